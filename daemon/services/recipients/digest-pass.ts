// One pass over the digests of a round: which mailboxes come next, what is in their digests, and what became of them.
import {groupBy} from '../../../shared/collections.ts';
import {owningDomain, parseMailAddress} from '../../../shared/mail-address.ts';
import {createGathering, type DigestAnswers} from './digest-gathering.ts';
import {
  type Digest,
  type DigestMail,
  type DigestResult,
  type DigestSource,
  mailboxesAtOnce,
  mailsOfNode,
} from './digest-model.ts';
import {createSources, type SourcesNeeds} from './digest-sources.ts';
import type {DigestRound, Settlement} from './digest-store.ts';

export type DigestPass = ReturnType<typeof createPass>;

export const createPass = (needs: SourcesNeeds) => {
  const {round, memory} = needs;
  const sources = createSources(needs);
  const gatherAll = createGathering(needs, sources);
  /** Which node has put its mail under which ids, of those that are not settled. */
  const given = new Map<DigestSource, Set<string>>();
  /** Of these, those that no digest had before. */
  let fresh: ReadonlySet<string> = new Set<string>();
  /** Which node has named which mailboxes of this page. */
  let named: {source: DigestSource; mailboxes: string[]}[] = [];

  return {
    ...sources,

    /** The next ones of all nodes that are not served yet, and how far that is; `last` is undefined behind the last one. */
    async mailboxes(after: string, domain: string): Promise<{mailboxes: string[]; last: string | undefined}> {
      const found = await sources.ask(async source => source.waiting(round, {after, limit: mailboxesAtOnce}));
      const said = new Set(found.flatMap(({answer}) => answer).filter(mailbox => byBytes(mailbox, after) > 0));
      const next = [...said].toSorted(byBytes).slice(0, mailboxesAtOnce);
      // What a node says is a claim.
      const isTheirs = (mailbox: string) => owningDomain(mailbox) === domain && parseMailAddress(mailbox) !== undefined;
      const unserved = next.filter(mailbox => !memory.served.has(mailbox));
      const isNext = new Set(unserved);
      named = found.map(({source, answer}) => ({source, mailboxes: answer.filter(mailbox => isNext.has(mailbox))}));
      return {mailboxes: unserved.filter(isTheirs), last: next.at(-1)};
    },

    /** The digests of these mailboxes, in their order, with the mail of all nodes that answer. */
    async gather(mailboxes: readonly string[]): Promise<Digest[]> {
      const gathered = await gatherAll(mailboxes);
      fresh = gathered.fresh;
      const mailsOf = new Map(gathered.answers.map(({source, answer}) => [source, answer]));
      for (const {source, mailboxes: names} of named) sources.noteNames(source, names, mailsOf.get(source) ?? []);
      for (const [source, mails] of mailsOf) given.set(source, new Set(mails.map(({digest_id}) => digest_id)));
      return merged(gathered.answers, round);
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
        [...given].map(async ([source, ids]) =>
          sources.settleAt(source, {settlements: settlements.filter(({digest_id}) => ids.has(digest_id)), served}),
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

/** One for each mailbox, and one for each that may have been delivered before. */
const merged = (answers: DigestAnswers, {due_at}: DigestRound): Digest[] => {
  const digests = new Map<string, {mailbox: string; id: string; mails: DigestMail[]; others: number; due_at: string}>();
  for (const {answer} of answers) {
    const mails = [...groupBy(answer, ({mailbox}) => mailbox).values()].flatMap(own => own.slice(0, mailsOfNode));
    const others = new Map(mails.map(mail => [mail.mailbox, mail.others]));
    for (const mail of mails) {
      const {mailbox, digest_id: id} = mail;
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
