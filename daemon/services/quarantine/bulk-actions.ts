// One action on many mails: owners in parallel, each with as many at once as it takes, and a node that does not answer is asked no more.
import {groupBy} from '../../../shared/group-by.ts';
import type {BulkResult, MailReference} from '../../../shared/held-mail.ts';

interface Needs {
  /** The result of the action on one mail; never rejects. */
  act(mail: MailReference): Promise<BulkResult>;
  /** Whether there is time left to start more. */
  mayStart(): boolean;
  isAway(nodeId: string): boolean;
  /** By node id. */
  actsAtOnce: ReadonlyMap<string, number>;
}

/** Results in the order of `mails`. */
export const actOnEach = async (
  mails: readonly MailReference[],
  {act, mayStart, isAway, actsAtOnce}: Needs,
): Promise<BulkResult[]> => {
  const results: BulkResult[] = [];
  const silent = new Set(mails.map(({node_id}) => node_id).filter(isAway));
  const resultUnlessSilent = async (mail: MailReference): Promise<BulkResult> => {
    if (!mayStart()) return notStarted(mail);
    if (silent.has(mail.node_id)) return notAsked(mail);
    const result = await act(mail);
    // Without this, a thousand mails of a node that hangs would take a thousand deadlines.
    if ('error' in result && isSilence(result.error)) silent.add(mail.node_id);
    return result;
  };
  const ofOneOwner = async (nodeId: string, waiting: [number, MailReference][]) => {
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await resultUnlessSilent(next[1]);
    };
    await Promise.all(Array.from({length: actsAtOnce.get(nodeId) ?? 1}, worker));
  };
  // Owners are asked in parallel, so that a slow one does not delay the others.
  const byOwner = groupBy(mails.entries(), ([, {node_id}]) => node_id);
  await Promise.all([...byOwner].map(async ([nodeId, some]) => ofOneOwner(nodeId, some)));
  return results;
};

const isSilence = ({code}: {code: string}): boolean => code === 'node_unreachable' || code === 'outcome_unknown';

const notAsked = ({node_id, queue_id}: MailReference): BulkResult => ({
  node_id,
  queue_id,
  error: {
    code: 'node_unreachable',
    detail: `node ${node_id} does not answer and was not asked for this mail; nothing was done, try again later`,
  },
});

const notStarted = ({node_id, queue_id}: MailReference): BulkResult => ({
  node_id,
  queue_id,
  error: {
    code: 'unavailable',
    detail: 'other mails of this request took too long; nothing was done, repeat the request for this one',
  },
});
