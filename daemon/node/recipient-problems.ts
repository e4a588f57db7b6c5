// Problems with digests and with the address of their links, as `cluster check`, the dashboard, the metrics and the log name them.
import type {Domain} from '../../shared/domain.ts';
import {pagesFault} from '../http/recipients/page-check.ts';
import type {Store} from '../services/ports.ts';
import type {RoundReport} from '../services/recipients/digest-model.ts';
import {lastDueMs, readableTime} from '../services/recipients/due-time.ts';
import type {StoredDigest} from '../services/records.ts';
import type {Base} from './base.ts';

const digestMs = 15_000;
/** How long what a node says of a domain's digests counts: another one may have sent the next. */
const troubleMs = 25 * 3_600_000;
/** A little longer than the longest pause between two tries, so that an error that comes again is one problem. */
const errorMs = 65 * 60_000;

interface DigestNeeds extends Pick<Base, 'dependencies' | 'now'> {
  /** The digests of a domain while they are on and this node sends them. */
  sentHere(domainId: number): Promise<StoredDigest | undefined>;
}

/**
 * Digests of a domain are a problem when nobody was sent his since they were last due, because of what a server or this node says. Where
 * others were sent theirs, one mailbox that is full is a line of the log.
 */
export const watchDigests = ({dependencies, now, sentHere}: DigestNeeds) => {
  const troubles = new Map<number, {name: string; detail: string; atMs: number}>();
  const sentAtMs = new Map<number, number>();
  let errorAtMs = Number.NEGATIVE_INFINITY;

  const find = async (id: number): Promise<string | undefined> => {
    const trouble = troubles.get(id);
    if (!trouble || now() - trouble.atMs >= troubleMs) return undefined;
    const stored = await sentHere(id);
    if (!stored) return undefined;
    return (sentAtMs.get(id) ?? 0) < lastDueMs(readableTime(stored), trouble.atMs) ? trouble.detail : undefined;
  };
  const findError = async () => (now() - errorAtMs < errorMs ? 'an error of this node; its log says why' : undefined);

  dependencies.watch(() => [
    {...{part: 'digest', name: '', quietMs: digestMs, retryMs: digestMs}, check: findError},
    ...[...troubles].map(([id, {name}]) => ({
      ...{part: 'digest' as const, name, domains: [name], quietMs: digestMs, retryMs: digestMs},
      check: async () => find(id),
    })),
  ]);
  return {
    report({id, name}: Domain, {sent, failure, refusal}: Pick<RoundReport, 'sent' | 'failure' | 'refusal'>): void {
      const detail = sent > 0 ? undefined : (failure ?? refusal);
      if (sent > 0) sentAtMs.set(id, now());
      if (detail === undefined) {
        dependencies.worked('digest', name);
        troubles.delete(id);
        return;
      }
      troubles.set(id, {name, detail, atMs: now()});
      dependencies.failed('digest', {name, detail});
    },
    /** Digests could not be sent because of an error of this node, which does not say of which domain. */
    erred(): void {
      errorAtMs = now();
      dependencies.failed('digest', {detail: 'an error'});
    },
  };
};

const pagesMs = 60_000;

/** The address of links: whether it leads to the pages, is the same on all nodes, and is set while domains have digests. */
export const watchPages = ({settings, records, storage: {store}, dependencies}: Base): void => {
  const {nodeDirectory, peerStates} = records;
  const otherUrls = () =>
    nodeDirectory.list().flatMap(({id, node_id}) => {
      const url = peerStates.latest(id)?.recipients_url;
      return url === undefined || url === settings().recipients.url ? [] : [{node_id, url}];
    });
  const unsetFault = async (): Promise<string | undefined> => {
    const {length: count} = await enabledDigests(store.config);
    return count === 0
      ? undefined
      : `it is set on no node, so ${count} ${count === 1 ? 'domain gets' : 'domains get'} no digests`;
  };
  const check = async (): Promise<string | undefined> => {
    const {url} = settings().recipients;
    const other = otherUrls().find(one => one.url !== (url ?? null));
    if (other) return `it is ${url ?? 'not set'} here, and ${other.url ?? 'not set'} on ${other.node_id}`;
    return url === undefined ? unsetFault() : pagesFault(url);
  };
  dependencies.watch(() => [{part: 'recipients_url', name: '', quietMs: pagesMs, retryMs: pagesMs, isCheckedFirst: true, check}]);
};

/** None while the store does not work, which is a problem of its own. */
export const enabledDigests = async (config: Pick<Store['config'], 'listDigests'>, ids?: number[]): Promise<StoredDigest[]> =>
  (await config.listDigests(ids).catch(() => [])).filter(({enabled_at}) => enabled_at !== null);
