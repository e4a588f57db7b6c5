import type {MailReference} from '../../shared/held-mail.ts';
import {usageError} from '../errors.ts';

/** Only ids that are safe in a path of the API. */
const shape = /^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)\/([0-9A-Za-z]{6,64})$/;

export const mailId = ({node_id, queue_id}: MailReference): string => `${node_id}/${queue_id}`;

export const parseMailId = (text: string): MailReference => {
  const [, node_id, queue_id] = shape.exec(text) ?? [];
  if (node_id === undefined || queue_id === undefined)
    throw usageError(`${JSON.stringify(text)} is no mail id: it must be NODE/QUEUE`, 'mfctl quarantine list shows ids');
  return {node_id, queue_id};
};

/** One id per line. Text after it is ignored, so that lines of `quarantine list` work too. */
export const parseMailIds = (lines: string): MailReference[] => {
  const words = lines.split('\n').map(line => line.trim().split(/\s+/, 1)[0] ?? '');
  return words.filter((word, at) => word !== '' && !(at === 0 && word === 'ID')).map(parseMailId);
};
