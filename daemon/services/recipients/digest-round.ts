// One pass over the digests of a domain that are due at one moment, by the node that sends them.
//
// A mail is in a digest from the moment its node gives it out until its node is told what became of that digest. An id is given to a mail
// that is sent only when all nodes have answered that may have put their mail under it: otherwise a later digest about that mail would look
// like a copy of this one.

import type {DigestSettings} from '../../../shared/digest.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {Store} from '../ports.ts';
import {createSemaphore, type Semaphore} from '../semaphore.ts';
import type {Digest, DigestResult, DigestSource, DigestTransport, RoundMemory, RoundReport} from './digest-model.ts';
import {createPass, type DigestPass} from './digest-pass.ts';
import {readSettings} from './digest-settings.ts';
import {type DigestRound, roundMs} from './digest-store.ts';

interface Outcome {
  outcome: 'over' | 'elsewhere' | 'waiting';
  /** Undefined when nothing was tried here. */
  report: RoundReport | undefined;
}

export interface RoundNeeds {
  nodeId: string;
  store: Pick<Store, 'config'>;
  domains: Pick<DomainDirectory, 'findById'>;
  /** This node and the others that may answer, by their numbers: the first one that is reached says who sends. */
  sources(): Promise<DigestSource[]>;
  transport: DigestTransport;
  now: () => number;
  /** For all mails under way. */
  places: Pick<Semaphore, 'run'>;
  isStopping(): boolean;
  onResult(state: DigestResult['state']): void;
  onReport(domain: Domain, report: RoundReport): void;
  /** Called when what is due could not be sent because of an error, and is tried again. */
  onError(error: unknown): void;
}

/** To the backends of one domain. */
const domainMailsAtOnce = 20;
/** So many mails in a row that no server answers are enough. */
const hopelessAfter = 5;
const keepMs = roundMs / 3;

export const createDigestRound =
  (needs: RoundNeeds) =>
  async (domain: Domain, round: DigestRound, memory: RoundMemory): Promise<Outcome> => {
    const pass = createPass({nodeId: needs.nodeId, round, memory});
    const timer = setInterval(() => void pass.keep().catch(needs.onError), keepMs).unref();
    try {
      const state = await pass.take(await needs.sources());
      // What could not be sent here was sent by another node.
      if (state === 'over') needs.onReport(domain, noReport);
      if (state !== 'taken') return {outcome: state, report: undefined};
      const report = await sendAll(needs, pass, {domain, memory});
      needs.onReport(domain, report);
      if (pass.isLost()) return {outcome: 'elsewhere', report};
      if (report.isWaiting) return {outcome: 'waiting', report};
      await pass.close();
      return {outcome: 'over', report};
    } finally {
      clearInterval(timer);
    }
  };

const noReport: RoundReport = {
  sent: 0,
  refused: 0,
  failure: undefined,
  refusal: undefined,
  bare: 0,
  bareFor: undefined,
  isWaiting: false,
};

interface Wanted {
  domain: Domain;
  memory: RoundMemory;
}

const sendAll = async (needs: RoundNeeds, pass: DigestPass, {domain, memory}: Wanted): Promise<RoundReport> => {
  const report: RoundReport = {...noReport, isWaiting: memory.after !== ''};
  const places = createSemaphore(domainMailsAtOnce);
  let failures = 0;
  const isHopeless = () => failures >= hopelessAfter;

  const isEnded = () => isHopeless() || needs.isStopping() || pass.isLost();

  const sendOne = async (to: Domain, settings: DigestSettings, digest: Digest): Promise<DigestResult | undefined> => {
    if (isEnded()) return undefined;
    const result = await needs.transport.send(to, settings, digest);
    needs.onResult(result.state);
    const isServed = result.state === 'sent' || result.state === 'refused' || (result.state === 'waiting' && result.hasServer);
    failures = isServed ? 0 : failures + 1;
    if (result.bareFor !== undefined) Object.assign(report, {bare: report.bare + 1, bareFor: result.bareFor});
    if (result.state === 'sent') report.sent += 1;
    else if (result.state === 'refused') Object.assign(report, {refused: report.refused + 1, refusal: result.detail});
    else report.failure = result.detail;
    return result;
  };

  for (;;) {
    // They may have changed since the mailbox before.
    const current = needs.domains.findById(domain.id);
    const settings = await readSettings(needs.store.config, domain.id);
    const {mailboxes, last} = await pass.mailboxes(memory.after, domain.name);
    if (!current?.active || !settings.enabled || last === undefined) {
      memory.after = '';
      break;
    }
    const digests = await pass.gather(mailboxes);
    const results = await Promise.all(
      digests.map(async digest => {
        const result = await places.run(async () =>
          isEnded() ? undefined : needs.places.run(async () => sendOne(current, settings, digest)),
        );
        return {digest, state: result?.state};
      }),
    );
    const isAnswered = ({state}: {state: DigestResult['state'] | undefined}) => state === 'sent' || state === 'refused';
    const unserved = new Set(results.filter(one => !isAnswered(one)).map(({digest}) => digest.mailbox));
    const served = new Set(results.map(({digest}) => digest.mailbox).filter(mailbox => !unserved.has(mailbox)));
    for (const mailbox of served) memory.served.add(mailbox);
    report.isWaiting ||= unserved.size > 0;
    await pass.settle(results, [...served]);
    // They were begun in this order.
    const tried = results.filter(({state}) => state !== undefined);
    memory.after = tried.length === results.length ? last : (tried.at(-1)?.digest.mailbox ?? memory.after);
    if (isEnded()) break;
  }
  report.isWaiting ||= memory.after !== '' || pass.hasFailed();
  return report;
};
