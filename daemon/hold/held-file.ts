// File of a held mail, checked against its row: a disk may have changed it, or another file may be in its place.

import {Fault} from '../../shared/fault.ts';
import type {MailContent} from '../services/intake/mail.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {checkedStream} from './checked-stream.ts';
import type {Spool, SpooledMail} from './spool/spool.ts';

type Row = Pick<StoredHeldMail, 'queue_id' | 'sha256' | 'sender' | 'recipients'>;

/**
 * The bytes of a mail. Throws a Fault `not_found` if there is no file, and one of `code` if the file belongs to another mail or
 * has changed. The stream fails if the file changes while it is read.
 */
export const openHeldFile = async (spool: Spool, row: Row, code: 'delivery_failed' | 'internal'): Promise<MailContent> => {
  const file = await spool.open(row.queue_id).catch(error => {
    if (error instanceof Fault) throw error;
    throw damaged(code, error);
  });
  if (!isOf(row, file) || !(await spool.isIntact(file))) throw damaged(code);
  // Bytes in memory cannot change any more.
  if (file.bytes) return file.content;
  const {sizeBytes, open, discard} = file.content;
  return {sizeBytes, discard, open: () => checkedStream(open(), file.sha256)};
};

/**
 * The row has no checksum of its own: a changed row would send the mail to someone else. The row lists only recipients who have
 * not received the mail, so it may have fewer than the file.
 */
const isOf = ({queue_id, sha256, sender, recipients}: Row, file: SpooledMail): boolean =>
  file.facts.queue_id === queue_id &&
  file.sha256 === sha256 &&
  file.facts.sender === sender &&
  recipients.every(recipient => file.facts.recipients.includes(recipient));

const damaged = (code: 'delivery_failed' | 'internal', cause?: unknown): Fault =>
  new Fault(
    code,
    'the file of this mail has changed on the disk of its node, whose operator must look at it; the mail is still held',
    {
      cause,
    },
  );
