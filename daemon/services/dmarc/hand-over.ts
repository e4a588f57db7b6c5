// How the counts of a policy domain and day come to the node that reports them.
import {createHash} from 'node:crypto';
import {Fault, type FaultCode} from '../../../shared/fault.ts';
import type {Store} from '../ports.ts';
import type {Batch, NodeCount, ReportSubject} from './dmarc-store.ts';

export interface Gathering {
  /** The node whose counts this one puts into batches; undefined for all nodes. */
  origin: number | undefined;
  /** The numbers of the nodes that can report now, with or without this one, which can always. */
  candidates(): number[];
  /**
   * Gives a batch to its holder. Rejects with `not_found` when there is no such node any more, with `node_unreachable` when the holder
   * has not got it, with `conflict` when it does not report, and with another error when nobody knows.
   */
  handOver?(batch: Batch, counts: readonly NodeCount[]): Promise<void>;
  /** Takes over from nodes that are away. */
  takeOver?(): Promise<void>;
}

interface Needs {
  store: Pick<Store, 'dmarc' | 'transaction'>;
  nodeNo: number;
  gathering: Gathering;
  /** Called with a batch whose holder was removed, so that nobody knows whether it reports it. */
  onLost(batch: Batch): void;
}

/** Less than a request between nodes may hold. */
const givenAtOnce = 200;

/** Gives this node's batches to their holders. */
export const createHandOver = ({store, nodeNo, gathering, onLost}: Needs): (() => Promise<void>) => {
  const {dmarc} = store;

  const reassign = async (batch: Batch, candidates: readonly number[]): Promise<void> =>
    store.transaction(async tx => tx.dmarc.reassign(batch.batch, holderOf(batch, nodeNo, candidates)));

  /** Resolves with what ended it before the holder had confirmed everything, and whether it has got a part. */
  const giveParts = async ({batch, ...rest}: Batch): Promise<{code: FaultCode | undefined; hasSome: boolean}> => {
    for (let hasSome = false; ; hasSome = true) {
      const counts = await dmarc.unconfirmedCounts(batch, givenAtOnce);
      const code = counts.length > 0 ? await codeOf(gathering.handOver?.({batch, ...rest}, counts)) : undefined;
      if (counts.length === 0 || code !== undefined) return {code, hasSome};
      const digests = counts.map(({digest}) => digest);
      await store.transaction(async tx => tx.dmarc.confirm(batch, digests));
    }
  };

  /** A holder that may have got counts keeps them until it answers: reported twice they would be more mails than there were. */
  const give = async (batch: Batch, away: Set<number>): Promise<void> => {
    const isOffered = await dmarc.isOffered(batch.batch);
    const others = () => gathering.candidates().filter(no => !away.has(no));
    if (away.has(batch.holder)) return isOffered ? undefined : reassign(batch, others());

    if (!isOffered) await store.transaction(async tx => tx.dmarc.offer(batch.batch));
    const {code, hasSome} = await giveParts(batch);
    if (code === undefined) return;
    away.add(batch.holder);
    if (!isOffered && !hasSome && isUnheard(code)) return reassign(batch, code === 'node_unreachable' ? others() : []);
    if (code !== 'not_found') return;
    await store.transaction(async tx => tx.dmarc.confirm(batch.batch));
    onLost(batch);
  };

  return async () => {
    /** Nodes that are not asked again in this run. */
    const away = new Set<number>();
    await each(await dmarc.unconfirmed(nodeNo), async batch => give(batch, away));
  };
};

/** The holder has certainly not got the counts. */
const isUnheard = (code: FaultCode): boolean => ['not_found', 'node_unreachable', 'conflict', 'validation_failed'].includes(code);

/** What a request failed with; undefined when it did not. */
const codeOf = async (request: Promise<void> | undefined): Promise<FaultCode | undefined> => {
  try {
    await request;
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
};

/** One that fails keeps nobody else waiting; rejects with the first failure at the end. */
export const each = async <T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> => {
  const errors: unknown[] = [];
  for (const one of all) await work(one).catch(error => void errors.push(error));
  if (errors.length > 0) throw errors[0];
};

/** The same node for all nodes that agree on the candidates, every day as long as they do (rendezvous hashing). */
export const holderOf = ({policy_domain}: ReportSubject, own: number, candidates: readonly number[]): number => {
  const weight = (no: number): number => partOf(`${policy_domain} ${no}`);
  return candidates.reduce((best, no) => (weight(no) > weight(best) ? no : best), own);
};

/** From 0 to below 1. */
export const partOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
