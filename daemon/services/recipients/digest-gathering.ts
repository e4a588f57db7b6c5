// The mail for digests, from all nodes that answer.
import {randomBytes} from 'node:crypto';
import {mailboxOf} from '../../../shared/digest-rules.ts';
import type {AskedDigest, DigestMail, DigestSource, Settled} from './digest-model.ts';
import type {DigestSources, SourcesNeeds} from './digest-sources.ts';
import type {Settlement} from './digest-store.ts';

/** So often some of the mail may be in digests that were sent again without it. */
const mostTries = 3;

export type DigestAnswers = {source: DigestSource; answer: DigestMail[]}[];

interface Gathered {
  answers: DigestAnswers;
  /** The ids that no digest had before. */
  fresh: ReadonlySet<string>;
}

interface Try {
  nth: number;
  /** The digests whose mail each node was told to put into others. */
  apart: Map<DigestSource, ReadonlySet<string>>;
}

export const createGathering = (
  {nodeId, round}: Pick<SourcesNeeds, 'nodeId' | 'round'>,
  {open, ask, leave, settleAt}: Pick<DigestSources, 'open' | 'ask' | 'leave' | 'settleAt'>,
) => {
  /** Tells the nodes to put this mail into other digests. Nodes that were told before are left out, and in the end those that say so. */
  const putApart = async (
    answers: DigestAnswers,
    resent: ReadonlySet<string>,
    {sayers, apart}: Pick<Try, 'apart'> & {sayers: DigestSource[]},
  ) => {
    const deaf = answers.filter(({source, answer}) => answer.some(({digest_id}) => apart.get(source)?.has(digest_id)));
    leave([...deaf.map(({source}) => source), ...sayers]);
    await ask(async source => {
      const settled = apartAt(source, answers, resent);
      await source.settle(round, settled, nodeId);
      apart.set(source, new Set([...(apart.get(source) ?? []), ...settled.settlements.map(({digest_id}) => digest_id)]));
    });
  };

  /** Undefined when a node did not answer, and when some of the mail is in no digest now: then the next try has all of it. */
  const gatherOnce = async (asked: readonly AskedDigest[], {nth, apart}: Try): Promise<Gathered | undefined> => {
    const fresh = new Set(asked.map(({id}) => id));
    const mailboxes = new Set(asked.map(({mailbox}) => mailbox));
    const before = open().length;
    // What a node says is a claim: the digest goes to the address.
    const isAsked = ({mailbox, address}: DigestMail) => mailboxes.has(mailbox) && mailboxOf(address) === mailbox;
    const answers = await ask(async source => (await source.digests(round, asked, nodeId)).filter(isAsked));
    if (answers.length < before) return undefined;
    const old = new Set(answers.flatMap(({answer}) => answer.map(({digest_id}) => digest_id)).filter(id => !fresh.has(id)));
    if (old.size === 0) return {answers, fresh};
    // A digest that may have been delivered, and was sent again without the mail of some node: under its id that mail would look like a copy.
    const told = await ask(async source => (await source.resentAmong(round, [...old])).filter(id => old.has(id)));
    const resent = new Set(told.flatMap(({answer}) => answer));
    if (resent.size === 0) return told.length === before ? {answers, fresh} : undefined;
    const sayers = told.flatMap(({source, answer}) => (nth >= mostTries && answer.length > 0 ? [source] : []));
    await putApart(answers, resent, {sayers, apart});
    return undefined;
  };

  return async (mailboxes: readonly string[]): Promise<Gathered> => {
    const apart: Try['apart'] = new Map();
    for (let nth = 1; mailboxes.length > 0 && open().length > 0; nth += 1) {
      const askedSources = open();
      const asked = mailboxes.map((mailbox): AskedDigest => ({mailbox, id: randomBytes(15).toString('base64url')}));
      const gathered = await gatherOnce(asked, {nth, apart});
      if (gathered) return gathered;
      // A node that did not answer may have put its mail under these ids: none of them is used.
      const settlements = asked.map(({mailbox, id}): Settlement => ({mailbox, digest_id: id, state: 'unsent'}));
      await Promise.all(askedSources.map(async source => settleAt(source, {settlements, served: []})));
    }
    return {answers: [], fresh: new Set()};
  };
};

const apartAt = (source: DigestSource, answers: DigestAnswers, ids: ReadonlySet<string>): Settled => ({
  settlements: answers
    .flatMap(one => (one.source === source ? one.answer : []))
    .filter(({digest_id}) => ids.has(digest_id))
    .map(({mailbox, digest_id}) => ({mailbox, digest_id, state: 'apart'})),
  served: [],
});
