// What became of a mail that is not held any more, as the audit log has it.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import {relayIn} from '../../shared/audit-relay.ts';
import {hasOwn} from '../../shared/has-own.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import {quoted} from '../../shared/shell-word.ts';
import type {Client} from '../client/client.ts';
import {CliError} from '../errors.ts';
import {namedActorText, timeText} from '../output/cell-text.ts';
import {mailId} from './held-mail-columns.ts';

const endings: Readonly<Record<string, string>> = {
  'quarantine.release': 'released',
  'quarantine.discard': 'discarded',
  'quarantine.expire': 'removed when its time was over',
};

/** What is asked of a mail; for one that is not held any more, the failure says what became of it. */
export const askOfMail = async <T>(client: Client, mail: MailReference, answer: Promise<T>): Promise<T> =>
  answer.catch(async (error: unknown) => {
    throw await endedMailFailure(client, mail, error);
  });

/** The same error where the log does not say. */
const endedMailFailure = async (client: Client, mail: MailReference, error: unknown): Promise<unknown> => {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  // A key may read held mail and not the audit log.
  const ending = await findEnding(client, mailId(mail)).catch((failure: unknown) => {
    if (failure instanceof CliError) return undefined;
    throw failure;
  });
  if (ending === undefined) return error;
  return error.with({detail: endingText(ending), hint: `mfctl audit --target ${quoted(ending.target)}`});
};

const findEnding = async (client: Client, target: string): Promise<AuditEntry | undefined> => {
  const {data} = await client.audit.list({target});
  return data.find(({action, result}) => result === 'ok' && hasOwn(endings, action));
};

const endingText = (entry: AuditEntry): string => {
  const {target, action, at, remote_address, detail} = entry;
  const relay = relayIn(detail);
  const from = remote_address === null ? '' : ` from ${remote_address}`;
  return `${target} was ${endings[action]} at ${timeText(at)} ${namedActorText(entry)}${from}${relay === undefined ? '' : ` via ${relay}`}`;
};
