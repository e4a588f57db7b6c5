// Releases and discards many mails, some at a time, so that one sees it go on and what is done is told even when it ends early.
import {setTimeout as sleep} from 'node:timers/promises';
import type {BulkResult, HoldAction, MailReference} from '../../../shared/held-mail.ts';
import {countText, plural} from '../../cell-text.ts';
import {asCliError, type CliError} from '../../cli-error.ts';
import type {Client} from '../../client.ts';
import {mailId} from '../../mail-id.ts';
import type {ActionReport} from '../deferred-actions.ts';

export interface ActionFailure {
  id: string;
  code: string;
  detail: string;
}

export interface ActionResult {
  done: number;
  /** Somebody had done the same before. */
  already: number;
  failures: ActionFailure[];
  /** Why it ended before all mails were asked for. */
  ended: CliError | undefined;
  untried: number;
}

export interface ActionNeeds {
  client: Pick<Client, 'send'>;
  onProgress(report: ActionReport): void;
  /** Mails that are dealt with, each time there are some. */
  onDone(mails: readonly MailReference[]): void;
}

const chunkSize = 100;
/** What a node that is asked too often may want us to wait. */
const longestWaitSeconds = 90;

export const actOnMails = async (
  action: HoldAction,
  mails: readonly MailReference[],
  {client, onProgress, onDone}: ActionNeeds,
): Promise<ActionResult> => {
  const result: ActionResult = {done: 0, already: 0, failures: [], ended: undefined, untried: 0};
  for (let at = 0; at < mails.length; at += chunkSize) {
    onProgress({done: at, total: mails.length});
    const items = mails.slice(at, at + chunkSize).map(({node_id, queue_id}) => ({node_id, queue_id}));
    try {
      count(result, await askPatiently(client, {action, items}));
    } catch (error) {
      result.ended = asCliError(error);
      result.untried = mails.length - at;
      break;
    }
    onDone(items);
  }
  onProgress({done: mails.length - result.untried, total: mails.length});
  return result;
};

/** No request acts twice, so one without an answer may be repeated. */
const askPatiently = async (
  client: Pick<Client, 'send'>,
  {action, items}: {action: HoldAction; items: MailReference[]},
): Promise<BulkResult[]> => {
  const request = {method: 'POST', path: `mail/quarantine/${action}`, json: {items}} as const;
  for (let attempts = 3; ; attempts -= 1)
    try {
      return (await client.send<BulkResult[]>(request)).data;
    } catch (error) {
      const {code, retryAfterSeconds = 1} = asCliError(error);
      const isWorthRepeating = ['rate_limited', 'unavailable', 'outcome_unknown', 'timeout'].includes(code);
      if (!isWorthRepeating || attempts === 1 || retryAfterSeconds > longestWaitSeconds) throw error;
      await sleep(retryAfterSeconds * 1000);
    }
};

const count = (total: ActionResult, results: readonly BulkResult[]): void => {
  for (const result of results)
    if ('error' in result) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(field => `; ${field.path}: ${field.detail}`).join('');
      total.failures.push({id: mailId(result), code, detail: detail + replies});
    } else if (result.already) total.already += 1;
    else total.done += 1;
};

const pastTense: Record<HoldAction, string> = {release: 'released', discard: 'discarded'};

/** `990 mails released, 8 were released already, 2 failed (e shows why)`. */
export const resultText = (action: HoldAction, {done, already, failures, ended, untried}: ActionResult): string =>
  [
    `${plural(done, 'mail')} ${pastTense[action]}`,
    already > 0 && `${countText(already)} had been ${pastTense[action]} already`,
    failures.length > 0 && `${countText(failures.length)} failed (e shows why)`,
    ended && `${countText(untried)} not dealt with: ${ended.detail}`,
  ]
    .filter(Boolean)
    .join(', ');
