// Release and discard of many mails, with retries and a count of the results.

import {setTimeout as sleep} from 'node:timers/promises';
import {hasOwn} from '../../../../shared/has-own.ts';
import type {BulkResult, HoldAction, MailReference} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import type {CliError} from '../../../errors.ts';
import {countText, plural} from '../../../output/cell-text.ts';
import {actOn, pastTense} from '../../../quarantine/bulk-action.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import type {ActionReport} from '../../shell/deferred-actions.ts';
import {fitText} from '../../shell/fit-text.ts';
import {createValue} from '../../shell/store.ts';
import type {PickedMail} from './screen-state.ts';

interface ActionFailure {
  id: string;
  code: string;
  detail: string;
  /** What the mail server answered, or else the detail: for one line. */
  reason: string;
}

interface ActionResult {
  done: number;
  /** Another person had done the same before. */
  already: number;
  failures: ActionFailure[];
  /** Why it ended before all mails were done. */
  ended: CliError | undefined;
  /** Requested, without an answer. */
  uncertain: number;
  untried: number;
}

interface ActionNeeds {
  client: Pick<Client, 'quarantine'>;
  onProgress(report: ActionReport): void;
  /** Called with the mails that are done. */
  onDone(mails: readonly MailReference[]): void;
}

const attempts = 3;
/** The longest Retry-After that is respected. */
const longestWaitSeconds = 90;

/** Requests without an answer are repeated, as none acts twice. */
export const actOnMails = async (
  action: HoldAction,
  mails: readonly MailReference[],
  {client, onProgress, onDone}: ActionNeeds,
): Promise<ActionResult> => {
  const result: ActionResult = {done: 0, already: 0, failures: [], ended: undefined, uncertain: 0, untried: 0};
  let left = mails;
  for (let attempt = 1; ; attempt += 1) {
    const before = mails.length - left.length;
    let reported = 0;
    const outcome = await actOn(client, action, left, {
      onProgress: ({done}) => {
        onProgress({done: before + done, total: mails.length});
        if (done > reported) onDone(left.slice(reported, done));
        reported = done;
      },
    });
    count(result, outcome.results);
    const {failure, uncertain, untried} = outcome;
    if (!failure || attempt === attempts || !isWorthRepeating(failure))
      return {...result, ended: failure, uncertain: uncertain.length, untried: untried.length};
    // Only attempts without progress count.
    if (outcome.results.length > 0) attempt = 0;
    await sleep((failure.retryAfterSeconds ?? 1) * 1000);
    left = [...uncertain, ...untried];
  }
};

const isWorthRepeating = ({code, retryAfterSeconds = 1}: CliError): boolean =>
  ['rate_limited', 'unavailable', 'outcome_unknown', 'timeout'].includes(code) && retryAfterSeconds <= longestWaitSeconds;

const count = (total: ActionResult, results: readonly BulkResult[]): void => {
  for (const result of results)
    if (hasOwn(result, 'error')) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(field => `${field.path}: ${field.detail}`).join('; ');
      const all = replies === '' ? detail : `${detail}; ${replies}`;
      total.failures.push({id: mailId(result), code, detail: all, reason: replies || detail});
    } else if (result.already) total.already += 1;
    else total.done += 1;
};

/** `990 mails released, 8 were released already, 2 failed (e shows why)`. A single failure is shown with its reason. */
export const resultText = (action: HoldAction, result: ActionResult, seeAlso = ' (e shows why)'): string => {
  const {done, already, failures, ended, uncertain, untried} = result;
  const [failure] = failures;
  const isOnlyFailure = failure !== undefined && failures.length === 1 && seeAlso !== '';
  if (isOnlyFailure && done + already + uncertain + untried === 0 && !ended) return `Not ${pastTense[action]}: ${failure.reason}`;
  const reason = isOnlyFailure ? `: ${failure.reason}` : seeAlso;
  const counts = [
    `${plural(done, 'mail')} ${pastTense[action]}`,
    already > 0 && `${countText(already)} had been ${pastTense[action]} already`,
    uncertain > 0 && `${countText(uncertain)} perhaps (no answer; repeating is safe)`,
    untried > 0 && `${countText(untried)} not processed`,
    failures.length > 0 && `${countText(failures.length)} failed${reason}`,
  ];
  return counts.filter(Boolean).join(', ') + (ended ? `: ${ended.detail}` : '');
};

interface ActQuestion {
  action: HoldAction;
  mails: readonly PickedMail[];
  /** The filter in words, when the selection is all its matches. */
  whole: string | undefined;
  silentNodes: readonly string[];
  width: number;
}

const maxNamed = 3;

/** The number of mails, the action, examples, and warnings. */
export const questionLines = ({action, mails, whole, silentNodes, width}: ActQuestion): string[] => {
  const many = plural(mails.length, 'mail');
  const isOne = mails.length === 1;
  const of = whole === undefined ? '' : `, all that matched when it was selected: ${whole}`;
  const what =
    action === 'release'
      ? `Release ${many}: deliver ${isOne ? 'it' : 'them'} to the mail server of ${isOne ? 'its' : 'their'} domain${of}`
      : `Discard ${many}: delete ${isOne ? 'it' : 'them'} for good, undelivered${of}`;
  const more = mails.length - maxNamed;
  const unreachable = mails.filter(({node_id}) => silentNodes.includes(node_id)).length;
  return [
    what,
    ...(unreachable > 0
      ? [`! ${countText(unreachable)} of them on ${silentNodes.join(', ')}, which did not answer: expect them to fail`]
      : []),
    ...(whole !== undefined && silentNodes.length > 0
      ? [`! what ${silentNodes.join(', ')} may hold is not among them: no answer`]
      : []),
    ...mails.slice(0, maxNamed).map(mail => fitText(mailText(mail), Math.max(10, width - 2)).trimEnd()),
    ...(more > 0 ? [`  … and ${countText(more)} more`] : []),
  ];
};

const mailText = ({from, to, subject}: PickedMail): string => `  ${from} → ${to}  ${subject || '(no subject)'}`;

interface FailedAction {
  /** The result of the action, and the reason when it ended early. */
  text: string;
  /** Mails whose action failed; oldest first. */
  failures: readonly ActionFailure[];
}

export interface Acting {
  /** By id. */
  actions: ReadonlyMap<string, HoldAction>;
  /** The last action that failed, at least in part; later successes do not remove it. */
  failed: FailedAction | undefined;
}

const maxFailures = 10_000;

export const createActingMails = () => {
  const {get, subscribe, set} = createValue<Acting>({actions: new Map(), failed: undefined});
  const change = (part: Partial<Acting>): void => set({...get(), ...part});
  return {
    get,
    subscribe,
    begin: (action: HoldAction, mails: readonly MailReference[]): void =>
      change({actions: new Map([...get().actions, ...mails.map(mail => [mailId(mail), action] as const)])}),
    end: (mails: readonly MailReference[]): void => {
      const actions = new Map(get().actions);
      for (const mail of mails) actions.delete(mailId(mail));
      change({actions});
    },
    fail: ({text, failures}: FailedAction): void => change({failed: {text, failures: failures.slice(-maxFailures)}}),
  };
};
