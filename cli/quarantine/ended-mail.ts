// What became of a mail that is not held any more, as the audit log has it.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import {relayIn} from '../../shared/audit-relay.ts';
import type {HoldAction, MailReference} from '../../shared/held-mail.ts';
import type {Client} from '../client/client.ts';
import {CliError} from '../errors.ts';
import {timeText} from '../output/cell-text.ts';
import {pagesOfNewest} from '../output/print-all.ts';
import {mailId} from './held-mail-columns.ts';

const endings: Record<HoldAction | 'expire', string> = {
  release: 'released',
  discard: 'discarded',
  expire: 'removed when its time was over',
};

/** The log is read newest first, and no further: an error must not take longer than the answer would have. */
const maxEntries = 5000;

/** For a mail that was not found: the error that says what became of it, or the same error where the log does not say. */
export const endedMailFailure = async (client: Client, mail: MailReference, error: unknown): Promise<unknown> => {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  // A key may read held mail and not the audit log.
  const ending = await findEnding(client, mailId(mail)).catch((failure: unknown) => {
    if (failure instanceof CliError) return undefined;
    throw failure;
  });
  if (ending === undefined) return error;
  return error.with({detail: endingText(ending), hint: `mfctl audit --action ${ending.action}`});
};

const findEnding = async (client: Client, target: string): Promise<AuditEntry | undefined> => {
  const found = await Promise.all(
    Object.keys(endings).map(async name => {
      const action = `quarantine.${name}`;
      const pages = pagesOfNewest<AuditEntry>({
        ask: page => client.audit.list({action, ...page}),
        nameOf: ({node_id, seq}) => `${node_id}:${seq}`,
        maxRows: maxEntries,
      });
      for await (const {rows} of pages) {
        const entry = rows.find(row => row.target === target && row.result === 'ok');
        if (entry) return entry;
      }
      return undefined;
    }),
  );
  return found.find(entry => entry !== undefined);
};

const endingText = ({target, action, at, key_id, key_name, remote_address, detail}: AuditEntry): string => {
  const ending = Object.entries(endings).find(([name]) => action === `quarantine.${name}`)?.[1] ?? action;
  const by =
    key_id === null ? 'by the node itself' : `with ${key_name === null ? `key ${key_id}, deleted since` : `the key ${key_name}`}`;
  const relay = relayIn(detail);
  const from = remote_address === null ? '' : ` from ${remote_address}`;
  return `${target} was ${ending} at ${timeText(at)} ${by}${from}${relay === undefined ? '' : ` via ${relay}`}`;
};
