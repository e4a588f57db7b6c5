// The nodes that gave a round to the node that sends it, for one pass over it.
import {randomBytes} from 'node:crypto';
import {groupBy} from '../../../shared/collections.ts';
import {mailboxOf} from '../../../shared/digest-rules.ts';
import {Fault} from '../../../shared/fault.ts';
import {owningDomain, parseMailAddress} from '../../../shared/mail-address.ts';
import {
  type AskedDigest,
  type Digest,
  type DigestDesk,
  type DigestMail,
  type DigestResult,
  mailboxesAtOnce,
  mailsOfNode,
  type RoundMemory,
  type Settled,
} from './digest-model.ts';
import type {DigestRound, RoundState, Settlement} from './digest-store.ts';

/** So often a node may have its mail in digests that were sent again without it. */
const mostTries = 3;
/** So many pages of mailboxes in a row for which a node had nothing. */
const mostIdlePages = 100;
/** A node lists ten thousand mails for each. */
const mostListings = 1000;
/** For nodes that list. */
const mostWaits = 3;

interface Needs {
  /** The node that sends. */
  nodeId: string;
  round: DigestRound;
  memory: RoundMemory;
}

export type DigestPass = ReturnType<typeof createPass>;

export const createPass = (needs: Needs) => {
  const {nodeId, round, memory} = needs;
  const desks = createDesks(needs);
  const {ask, settleAt} = desks;
  /** Which node has put its mail under which ids, of those that are not settled. */
  const given = new Map<DigestDesk, Set<string>>();
  /** Of these, those that no digest had before. */
  let fresh = new Set<string>();
  /** The nodes that named some of the mailboxes of this page. */
  let naming: DigestDesk[] = [];

  /** Undefined when a node did not answer, and when some of the mail is in no digest now: then the next try has all of it. */
  const gatherOnce = async (asked: readonly AskedDigest[], tries: number): Promise<Answers | undefined> => {
    fresh = new Set(asked.map(({id}) => id));
    const before = desks.open().length;
    const answers = await ask(async desk => desk.digests(round, asked, nodeId));
    if (answers.length < before) return undefined;
    const old = new Set(answers.flatMap(({answer}) => answer.map(({digest_id}) => digest_id)).filter(id => !fresh.has(id)));
    if (old.size === 0) return answers;
    // A digest that may have been delivered, and was sent again without the mail of some node: under its id that mail would look like a copy.
    const told = await ask(async desk => desk.resentAmong(round, [...old]));
    const resent = new Set(told.flatMap(({answer}) => answer).filter(id => old.has(id)));
    if (resent.size > 0 && tries >= mostTries) desks.leaveOut(answers, resent);
    else if (resent.size > 0) await ask(async desk => desk.settle(round, apartAt(desk, answers, resent), nodeId));
    return resent.size === 0 && told.length === before ? answers : undefined;
  };

  return {
    ...desks,

    /** The next ones of all nodes that are not served yet, and how far that is; `last` is undefined behind the last one. */
    async mailboxes(after: string, domain: string): Promise<{mailboxes: string[]; last: string | undefined}> {
      const found = await ask(async desk => desk.waiting(round, {after, limit: mailboxesAtOnce}));
      const said = new Set(found.flatMap(({answer}) => answer).filter(mailbox => byBytes(mailbox, after) > 0));
      const next = [...said].toSorted(byBytes).slice(0, mailboxesAtOnce);
      // What a node says is a claim.
      const isTheirs = (mailbox: string) => owningDomain(mailbox) === domain && parseMailAddress(mailbox) !== undefined;
      const mailboxes = next.filter(mailbox => isTheirs(mailbox) && !memory.served.has(mailbox));
      const wanted = new Set(mailboxes);
      naming = found.flatMap(({desk, answer}) => (answer.some(mailbox => wanted.has(mailbox)) ? [desk] : []));
      return {mailboxes, last: next.at(-1)};
    },

    /** The digests of these mailboxes, in their order, with the mail of all nodes that answer. */
    async gather(mailboxes: readonly string[]): Promise<Digest[]> {
      for (let tries = 1; mailboxes.length > 0 && desks.open().length > 0; tries += 1) {
        const askedDesks = desks.open();
        const asked = mailboxes.map((mailbox): AskedDigest => ({mailbox, id: randomBytes(15).toString('base64url')}));
        const answers = await gatherOnce(asked, tries);
        if (answers) {
          desks.noteIdle(naming.filter(desk => answers.every(one => one.desk !== desk || one.answer.length === 0)));
          for (const {desk, answer} of answers) given.set(desk, new Set(answer.map(({digest_id}) => digest_id)));
          return merged(mailboxes, answers, round);
        }
        // A node that did not answer may have put its mail under these ids: none of them is used.
        const settlements = asked.map(({mailbox, id}): Settlement => ({mailbox, digest_id: id, state: 'unsent'}));
        await Promise.all(askedDesks.map(async desk => settleAt(desk, {settlements, served: []})));
      }
      return [];
    },

    /** What may have been delivered, now or before, stays in its digest, and is sent again with the same id. */
    async settle(results: readonly Sending[], served: readonly string[]): Promise<void> {
      const settlements = results.flatMap(({digest: {mailbox, id}, state}): Settlement[] => {
        if (state === 'sent') return [{mailbox, digest_id: id, state: fresh.has(id) ? 'sent' : 'resent'}];
        if (state === 'refused' && !fresh.has(id)) return [{mailbox, digest_id: id, state: 'later'}];
        // Undefined: it was not tried.
        return state !== 'unknown' && fresh.has(id) ? [{mailbox, digest_id: id, state: 'unsent'}] : [];
      });
      await Promise.all(
        [...given].map(async ([desk, ids]) =>
          settleAt(desk, {settlements: settlements.filter(({digest_id}) => ids.has(digest_id)), served}),
        ),
      );
      given.clear();
    },
  };
};

interface Sending {
  digest: Digest;
  state: DigestResult['state'] | undefined;
}

type Answers = {desk: DigestDesk; answer: DigestMail[]}[];

const apartAt = (desk: DigestDesk, answers: Answers, ids: ReadonlySet<string>): Settled => ({
  settlements: answers
    .flatMap(one => (one.desk === desk ? one.answer : []))
    .filter(({digest_id}) => ids.has(digest_id))
    .map(({mailbox, digest_id}) => ({mailbox, digest_id, state: 'apart'})),
  served: [],
});

/** The nodes that answer. */
const createDesks = ({nodeId, round, memory}: Needs) => {
  let open: readonly DigestDesk[] = [];
  let isLost = false;
  let hasFailed = false;
  const idlePages = new Map<DigestDesk, number>();

  const leave = (left: readonly DigestDesk[]): void => {
    open = open.filter(desk => !left.includes(desk));
    hasFailed ||= left.length > 0;
  };

  /** Asks all of them. Those that do not answer are left out from then on. */
  const ask = async <T>(work: (desk: DigestDesk) => Promise<T>): Promise<{desk: DigestDesk; answer: T}[]> => {
    const found = await Promise.all(open.map(async desk => ({desk, answer: await work(desk).catch(failure)})));
    const answered = found.flatMap(({desk, answer}) => (answer instanceof Fault ? [] : [{desk, answer}]));
    if (found.some(({answer}) => answer instanceof Fault && answer.code === 'conflict')) isLost = true;
    hasFailed ||= answered.length < open.length;
    open = answered.map(({desk}) => desk);
    return answered;
  };

  const settleAt = async (desk: DigestDesk, settled: Settled): Promise<void> => {
    if (settled.settlements.length + settled.served.length === 0) return;
    const fault = await desk.settle(round, settled, nodeId).then(() => undefined, failure);
    if (!fault) return;
    hasFailed = true;
    isLost ||= fault.code === 'conflict';
    open = open.filter(one => one !== desk);
    // Whoever has the round now may deliver under these ids.
    const kept = fault.code === 'conflict' ? settled.settlements.filter(({state}) => state !== 'unsent') : settled.settlements;
    memory.unsettled.set(desk.nodeId, [...(memory.unsettled.get(desk.nodeId) ?? []), ...kept]);
  };

  /** Resolves with whether the node did not answer. */
  const tellUnsettled = async (desk: DigestDesk): Promise<boolean> => {
    const settlements = memory.unsettled.get(desk.nodeId);
    if (!settlements) return false;
    const state = await desk.keep(round, nodeId).catch(failure);
    if (state !== 'taken') return state instanceof Fault;
    memory.unsettled.delete(desk.nodeId);
    await settleAt(desk, {settlements, served: []});
    return memory.unsettled.has(desk.nodeId);
  };

  return {
    ask,
    settleAt,
    open: () => open,
    /** Those whose mail is always under one of these ids, whatever they are told. */
    leaveOut(answers: Answers, ids: ReadonlySet<string>): void {
      leave(answers.flatMap(({desk, answer}) => (answer.some(mail => ids.has(mail.digest_id)) ? [desk] : [])));
    },

    /** `idle`: those that named mailboxes of a page and gave nothing for them. Too often, and a node is left out: it may make up names without end. */
    noteIdle(idle: readonly DigestDesk[]): void {
      for (const desk of open) idlePages.set(desk, idle.includes(desk) ? (idlePages.get(desk) ?? 0) + 1 : 0);
      leave(open.filter(desk => (idlePages.get(desk) ?? 0) >= mostIdlePages));
    },

    /** Tells the nodes what they could not be told before. Resolves with whether some did not answer. */
    tell: async (desks: readonly DigestDesk[]): Promise<boolean> => (await Promise.all(desks.map(tellUnsettled))).includes(true),
    /** Whether another node has the round. */
    isLost: () => isLost,
    /** Whether a node that gave the round to this one did not answer later. */
    hasFailed: () => hasFailed,

    /** Node by node: the first one that another node has, or that has sent all, says so. */
    async take(desks: readonly DigestDesk[]): Promise<RoundState> {
      open = [];
      for (const desk of desks) {
        // Before it lists what has come since.
        await tellUnsettled(desk);
        const state = await openDesk(desk, round, nodeId);
        if (state === 'taken') open = [...open, desk];
        else if (state instanceof Fault) {
          // A node that takes the question, and has no answer in time, is still listing.
          if (state.code !== 'outcome_unknown' || memory.slow >= mostWaits) continue;
          memory.slow += 1;
          return 'elsewhere';
        } else {
          // The nodes that this one has reached by now did not hear of it when it ended.
          if (state === 'over') await ask(async one => one.close(round, nodeId));
          return state;
        }
      }
      return 'taken';
    },

    async keep(): Promise<void> {
      const states = await Promise.all(open.map(async desk => desk.keep(round, nodeId).catch(failure)));
      isLost ||= states.some(state => state === 'elsewhere' || state === 'over');
    },

    close: async () => void (await ask(async desk => desk.close(round, nodeId))),
  };
};

const openDesk = async (desk: DigestDesk, round: DigestRound, nodeId: string): Promise<RoundState | Fault> => {
  for (let n = 0; n < mostListings; n += 1) {
    const state = await desk.open(round, nodeId).catch(failure);
    if (state !== 'listing') return state;
  }
  return 'taken';
};

/** A node that does not answer, or not so; anything else is an error of this one. */
const failure = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  throw error;
};

/** One for each mailbox, and one for each that may have been delivered before. */
const merged = (mailboxes: readonly string[], answers: Answers, {due_at}: DigestRound): Digest[] => {
  const asked = new Set(mailboxes);
  const digests = new Map<string, {mailbox: string; id: string; mails: DigestMail[]; others: number; due_at: string}>();
  for (const {answer} of answers) {
    const mails = [...groupBy(answer, ({mailbox}) => mailbox).values()].flatMap(own => own.slice(0, mailsOfNode));
    const others = new Map(mails.map(mail => [mail.mailbox, mail.others]));
    for (const mail of mails) {
      const {mailbox, digest_id: id} = mail;
      // What a node says is a claim: the digest goes to the address.
      if (!asked.has(mailbox) || mailboxOf(mail.address) !== mailbox) continue;
      const name = JSON.stringify([mailbox, id]);
      const digest = digests.get(name) ?? {mailbox, id, mails: [], others: 0, due_at};
      digest.mails.push(mail);
      digest.others += others.get(mailbox) ?? 0;
      others.delete(mailbox);
      digests.set(name, digest);
    }
  }
  return [...digests.values()].toSorted((one, other) => byBytes(one.mailbox, other.mailbox));
};

/** The order of the stores. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
