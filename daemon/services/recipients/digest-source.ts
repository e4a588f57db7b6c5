// The part of a node in digests: which of its held mail is listed for whom, and the links that it gives for that.

import {groupBy} from '../../../shared/collections.ts';
import {type DigestAction, exceptionTest, linkDays, mailboxOf} from '../../../shared/digest-rules.ts';
import {Fault} from '../../../shared/fault.ts';
import {comparableAddress, owningDomain, parseMailAddress} from '../../../shared/mail-address.ts';
import {reasons} from '../../../shared/reason.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {Store} from '../ports.ts';
import {isForRecipients} from '../quarantine/stored-mail.ts';
import {timeAt} from '../time-at.ts';
import {type AskedDigest, type DigestMail, type DigestSource, mailsOfNode} from './digest-model.ts';
import {actionFor, digestFrom, readSettings, settingsOf} from './digest-settings.ts';
import {
  type DigestEntry,
  type DigestRound,
  roundMs,
  type UnlistedMail,
  type WaitingEntry,
  type WaitingMail,
} from './digest-store.ts';
import {shown} from './digest-text.ts';
import {hashOfToken, newToken} from './link-token.ts';

interface Needs {
  nodeId: string;
  /** The number in the tokens. */
  nodeNo: number;
  store: Pick<Store, 'config' | 'digests' | 'hold' | 'transaction'>;
  domains: Pick<DomainDirectory, 'findById'>;
  /** The address that digests come from, where it is not that of the domain. */
  from(): string | undefined;
  now: () => number;
}

type Transaction = Parameters<Parameters<Store['transaction']>[0]>[0];

const dayMs = 24 * 3_600_000;
const mailsAtOnce = 500;
/** So many chunks are listed for one question. */
const chunksAtOnce = 20;

export const createDigestSource = (needs: Needs): DigestSource => {
  const {nodeId, store, now} = needs;
  const unlisted = createUnlisted(needs);
  const holder = (sender: string) => ({holder: sender, now: now(), heldMs: roundMs});

  /** Does the work in one transaction, if the sender still has the round. */
  const whileHeld = async <T>(round: DigestRound, sender: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
    store.transaction(async tx => {
      const state = await tx.digests.take(round, holder(sender));
      if (state !== 'taken') throw new Fault('conflict', `${nodeId} gave these digests to another node`);
      return work(tx);
    });

  const giveOut = createGiving(needs);

  return {
    nodeId,

    async open(round, sender) {
      const state = await store.transaction(async tx => tx.digests.take(round, holder(sender)));
      if (state !== 'taken') return state;
      let chunks = 0;
      for await (const entries of unlisted(round)) {
        await whileHeld(round, sender, async tx => tx.digests.add(round.domain_id, entries));
        chunks += 1;
        if (chunks === chunksAtOnce) return 'listing';
      }
      return 'taken';
    },

    keep: async (round, sender) => store.transaction(async tx => tx.digests.take(round, {...holder(sender), isKept: true})),
    waiting: async ({domain_id}, choice) => store.digests.waiting(domain_id, choice),

    digests: async (round, asked, sender) => whileHeld(round, sender, async tx => giveOut(tx, round, asked)),

    settle: async (round, {settlements, served}, sender) =>
      whileHeld(round, sender, async tx => tx.digests.settle(round.domain_id, settlements, served)),
    resentAmong: async ({domain_id}, ids) => store.digests.resentAmong(domain_id, ids),

    close: async (round, sender) => whileHeld(round, sender, async tx => tx.digests.close(round)),

    preview: createPreview(store, unlisted),
  };
};

/** What is to be in digests of these mailboxes. What the settings leave out is for later, and what is over is dropped. */
const listedFor = async (tx: Transaction, round: DigestRound, mailboxes: readonly string[]): Promise<Listed[]> => {
  const {domain_id} = round;
  const [stored] = await tx.config.listDigests([domain_id]);
  const settings = settingsOf(stored);
  const isExcepted = exceptionTest(settings.except);
  const since = sinceOf(round, stored);
  await tx.digests.dropEnded(domain_id, mailboxes);
  // At once: one may have ten thousand mails.
  await tx.digests.settle(domain_id, [], mailboxes.filter(isExcepted));
  for (;;) {
    const found = await tx.digests.waitingFor(domain_id, mailboxes, mailsOfNode);
    const ended = found.filter(({mail}) => mail === null || mail.arrived_at < since);
    const leftOut = found.filter(({mail, address}) => mail && (settings.actions[mail.reason] === 'none' || isExcepted(address)));
    if (ended.length + leftOut.length === 0)
      return found.flatMap(({mail, ...entry}) => (mail ? [{...entry, mail, action: actionFor(settings, mail)}] : []));
    await tx.digests.postpone(leftOut);
    await tx.digests.drop(ended);
  }
};

/** Gives out the mail of digests, with a link for each. */
const createGiving =
  ({nodeNo, now}: Needs) =>
  async (tx: Transaction, round: DigestRound, asked: readonly AskedDigest[]): Promise<DigestMail[]> => {
    const ids = new Map(asked.map(({mailbox, id}) => [mailbox, id]));
    const listed = await listedFor(tx, round, [...ids.keys()]);
    const news = listed.flatMap(({mail: _, action: _action, waiting_count: _count, ...entry}) =>
      entry.digest_id === null ? [{...entry, digest_id: ids.get(entry.mailbox) ?? ''}] : [],
    );
    await tx.digests.putInto(news);
    const counts = groupBy(listed, ({mailbox}) => mailbox);
    const mails = listed.map(entry => {
      const others = entry.waiting_count - (counts.get(entry.mailbox)?.length ?? 0);
      const digest_id = entry.digest_id ?? ids.get(entry.mailbox) ?? '';
      return {entry, mail: digestMailOf(entry, {token: newToken(nodeNo), digest_id, others})};
    });
    const made_at = timeAt(now());
    await tx.digests.addLinks(
      mails.map(({entry: {queue_id, address}, mail: {token, digest_id}}) => ({
        ...{hash: hashOfToken(token), queue_id, address, made_at, digest_id},
      })),
    );
    return mails.map(({mail}) => mail);
  };

/** What would be in a digest for a mailbox that is due now. */
const createPreview =
  (store: Needs['store'], unlisted: ReturnType<typeof createUnlisted>): DigestSource['preview'] =>
  async (round, wanted) => {
    const settings = await readSettings(store.config, round.domain_id);
    const isExcepted = exceptionTest(settings.except);
    const waiting = await store.digests.waitingFor(round.domain_id, [wanted], mailsOfNode);
    const fresh: WaitingEntry[] = [];
    for await (const entries of unlisted(round, wanted)) {
      const own = entries.filter(({mailbox}) => mailbox === wanted);
      fresh.push(...(await freshEntries(store, own)));
      if (fresh.length >= mailsOfNode) break;
    }
    return [...waiting, ...fresh]
      .flatMap(({mail, ...entry}) => {
        if (!mail || isExcepted(entry.address) || settings.actions[mail.reason] === 'none') return [];
        const listed = {...entry, mail, action: actionFor(settings, mail)};
        return [digestMailOf(listed, {token: 'preview', digest_id: 'preview', others: 0})];
      })
      .slice(0, mailsOfNode);
  };

/** What is in no digest yet, in chunks, the earliest first; with a mailbox, chunks that have what there is for it. */
const createUnlisted = ({store, domains, from}: Needs) =>
  async function* (round: DigestRound, mailbox?: string): AsyncGenerator<DigestEntry[]> {
    const [stored] = await store.config.listDigests([round.domain_id]);
    const domain = domains.findById(round.domain_id);
    if (!domain) return;
    const settings = settingsOf(stored);
    const recipientText = mailbox === undefined ? undefined : searchText(mailbox);
    const choice = {
      reasons: reasons.filter(reason => settings.actions[reason] !== 'none'),
      since: sinceOf(round, stored),
      limit: mailsAtOnce,
      ...(recipientText !== undefined && {recipientText}),
    };
    const own = comparableAddress(digestFrom(domain, from()));
    // A digest that came back, as by a backend that sends all mail here, or one that somebody made up.
    const isDigest = (mail: UnlistedMail) => mail.from?.map(comparableAddress).includes(own);
    let after: UnlistedMail | undefined;
    do {
      const mails: UnlistedMail[] = await store.digests.unlisted(round, {...choice, after});
      const entries = mails
        .filter(mail => !isDigest(mail))
        .flatMap(({queue_id, recipients}) =>
          recipients
            .filter(address => owningDomain(address) === domain.name)
            .map(address => ({queue_id, address, mailbox: mailboxOf(address)}))
            // Folded, an address may be too long to be one.
            .filter(entry => parseMailAddress(entry.mailbox) !== undefined),
        );
      if (entries.length > 0) yield entries;
      after = mails.length < mailsAtOnce ? undefined : mails.at(-1);
    } while (after);
  };

/** The earliest mail that is listed. */
const sinceOf = ({due_at}: DigestRound, stored: {enabled_at: string | null} | undefined): string =>
  timeAt(Math.max(Date.parse(stored?.enabled_at ?? due_at) - dayMs, Date.parse(due_at) - linkDays * dayMs));

interface Listed extends Omit<WaitingEntry, 'mail'> {
  mail: WaitingMail;
  action: DigestAction;
}

/** Texts go between nodes as they are shown: strangers write them, as long as they like. */
const digestMailOf = (
  {mailbox, address, mail, action}: Listed,
  rest: Pick<DigestMail, 'token' | 'digest_id' | 'others'>,
): DigestMail => {
  const {sender, from, subject, reason, arrived_at} = mail;
  const shownFrom = from && from.length > 0 ? [shown(from.join(', '))] : [];
  return {mailbox, address, action, sender: shown(sender), from: shownFrom, subject: shown(subject), reason, arrived_at, ...rest};
};

/** What stands in the row of each mail to the mailbox; undefined for names that are written there in another way. */
const searchText = (mailbox: string): string | undefined => /^([a-z0-9.-]+)@/.exec(mailbox)?.[1];

const freshEntries = async ({hold}: Pick<Store, 'hold'>, entries: readonly DigestEntry[]): Promise<WaitingEntry[]> => {
  const mails = new Map((await hold.findAll(entries.map(({queue_id}) => queue_id))).map(mail => [mail.queue_id, mail]));
  return entries.map(entry => {
    const mail = mails.get(entry.queue_id);
    return {...entry, digest_id: null, waiting_count: 0, mail: mail ? {...mail, is_for_recipients: isForRecipients(mail)} : null};
  });
};
