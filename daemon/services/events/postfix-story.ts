// What became of mail behind Postfix: lines of its log about mail that this node knows become entries of the event log.
//
// A mail is known by the queue id under which Postfix has it: entries of this node name it (`queueIdAtPostfix`). Also a content filter
// behind Postfix, which hands the mail back, names the next id in its reply; `postsuper -r` gives a mail another one, which the log names.
import type {TraceFilter} from '../../../shared/hold-filter.ts';
import {comparableAddress} from '../../../shared/mail-address.ts';
import type {Store} from '../ports.ts';
import {unknownMail} from './held-event.ts';
import {type NewMailEvent, queueIdAtPostfix, type StoredMailEvent} from './mail-event.ts';
import type {DeliveryLine, PostfixLine} from './postfix-line.ts';

export interface PostfixStory {
  /** The place in the log up to which it is in the event log; undefined before the first. */
  place(): Promise<string | undefined>;
  /**
   * Writes what the lines say of mail that this node knows, and the place after them, in one transaction. Resolves with the number of
   * entries.
   */
  add(lines: readonly PostfixLine[], place: string): Promise<number>;
}

interface Needs {
  store: Pick<Store, 'transaction' | 'events' | 'state'>;
  /** The log is of this node alone, also where nodes share a store. */
  nodeId: string;
  /** Writes what waits to be in the event log: it may be about the same mail. Where it rejects, so does `add`. */
  flush(): Promise<void>;
  now: () => number;
}

/** Postfix uses a short id again for other mail. With usual settings a mail is in the queue for five days at most. */
const shortIdMs = 7 * 86_400_000;
/** Queue ids that `postsuper -r` gave. Only mail that was on hold for days gets one. */
const maxRenamed = 5000;
/** A mail that goes through filters one after the other may be in one batch of lines several times. */
const maxRounds = 4;

export const createPostfixStory = ({store, nodeId, flush, now}: Needs): PostfixStory => {
  const names = {place: `postfix_log:${nodeId}`, renamed: `postfix_ids:${nodeId}`};
  let renamed: Map<string, string> | undefined;

  const readRenamed = async (): Promise<Map<string, string>> =>
    new Map(JSON.parse((await store.state.read(names.renamed)) ?? '[]') as [string, string][]);

  /** The recipients that Postfix has given up: it has put off delivery to them, and said nothing final. */
  const leftOf = async ({queue_id}: MailFacts, written: readonly NewMailEvent[]): Promise<string[]> => {
    if (queue_id === null) return [];
    // Another node may have the same queue id.
    const filter: TraceFilter = {node: nodeId, queue_id, event: ['sent', 'bounced', 'postponed']};
    const stored = await store.events.find(filter, {kind: 'all'}, {limit: 1000});
    const of = (isFinal: boolean) =>
      [...stored, ...written.filter(entry => entry.queue_id === queue_id)]
        .filter(({event}) => (event !== 'postponed') === isFinal)
        .flatMap(({recipients}) => recipients);
    const settled = new Set(of(true));
    return [...new Set(of(false))].filter(recipient => !settled.has(recipient));
  };

  /** Undefined when it is about mail that this node does not know, or not yet. */
  const entryFor = async (line: FateLine, {id, known, written}: Knowledge): Promise<NewMailEvent | undefined> => {
    const found = mailOf(line, id, known.get(id) ?? []);
    if (!found) return undefined;
    const recipients = line.kind === 'delivery' ? [found.recipient] : await leftOf(found.mail, written());
    return recipients.length === 0 ? undefined : entryOf(line, {...found.mail, recipients}, now());
  };

  const entriesOf = async (lines: readonly FateLine[], current: ReadonlyMap<string, string>): Promise<NewMailEvent[]> => {
    const idOf = ({queueId}: FateLine) => current.get(queueId) ?? queueId;
    const known = await knownMail(store, lines.map(idOf));
    const entries = new Map<FateLine, NewMailEvent>();
    for (let round = 0, before = -1; round < maxRounds && entries.size > before; round += 1) {
      before = entries.size;
      for (const line of lines.filter(one => !entries.has(one))) {
        const entry = await entryFor(line, {id: idOf(line), known, written: () => [...entries.values()]});
        if (!entry) continue;
        entries.set(line, entry);
        note(known, entry);
      }
    }
    return lines.flatMap(line => entries.get(line) ?? []);
  };

  return {
    place: async () => store.state.read(names.place),
    async add(lines, place) {
      if (lines.length > 0) await flush();
      renamed ??= await readRenamed();
      const next = await withRequeued(store, lines, renamed);
      const fates = lines.flatMap(line => (line.kind === 'requeued' ? [] : [line]));
      const entries = await entriesOf(fates, next ?? renamed);
      await store.transaction(async tx => {
        await tx.events.append(entries);
        await tx.state.write(names.place, place);
        if (next) await tx.state.write(names.renamed, JSON.stringify([...next]));
      });
      renamed = next ?? renamed;
      return entries.length;
    },
  };
};

interface Knowledge {
  /** The first queue id of the mail of a line. */
  id: string;
  known: KnownMail;
  /** The entries of the lines before. */
  written(): readonly NewMailEvent[];
}

type FateLine = Exclude<PostfixLine, {kind: 'requeued'}>;

type MailFacts = Pick<
  StoredMailEvent,
  | 'event'
  | 'at'
  | 'queue_id'
  | 'direction'
  | 'domain'
  | 'domain_id'
  | 'sender'
  | 'recipients'
  | 'recipient_count'
  | 'from'
  | 'subject'
  | 'message_id'
  | 'client'
  | 'reply'
>;

/** Entries by the queue id that Postfix has after them, newest first. */
type KnownMail = Map<string, MailFacts[]>;

const knownMail = async (store: Needs['store'], ids: readonly string[]): Promise<KnownMail> => {
  const known: KnownMail = new Map();
  if (ids.length === 0) return known;
  for (const entry of await store.events.handedOver([...new Set(ids)])) {
    const id = queueIdAtPostfix(entry) ?? '';
    known.set(id, [...(known.get(id) ?? []), entry]);
  }
  return known;
};

/** What a line says of the next queue id of a mail is known to the lines after it. */
const note = (known: KnownMail, entry: NewMailEvent): void => {
  const id = queueIdAtPostfix(entry);
  if (id === undefined) return;
  known.set(id, [{...entry, recipient_count: entry.recipients.length}, ...(known.get(id) ?? [])]);
};

/** The queue ids with those that lines give anew, of mail that this node knows; undefined without any. */
const withRequeued = async (
  store: Needs['store'],
  lines: readonly PostfixLine[],
  renamed: ReadonlyMap<string, string>,
): Promise<Map<string, string> | undefined> => {
  const requeued = lines.flatMap(line => (line.kind === 'requeued' ? [line] : []));
  if (requeued.length === 0) return undefined;
  const next = new Map(renamed);
  // A mail may be put on hold and be queued anew again.
  const firstId = (id: string): string => next.get(id) ?? id;
  for (const {queueId, formerId} of requeued) next.set(queueId, firstId(formerId));
  const known = await knownMail(
    store,
    requeued.map(({queueId}) => firstId(queueId)),
  );
  for (const {queueId} of requeued) if (!known.has(firstId(queueId))) next.delete(queueId);
  return new Map([...next].slice(-maxRenamed));
};

interface Found {
  mail: MailFacts;
  recipient: string;
}

/**
 * The mail of a line, and whom of its recipients it is about. The mail has to have that recipient: a server can answer with the queue id of
 * any mail, and must not learn from the log of its sender what became of that one.
 */
const mailOf = (line: FateLine, id: string, entries: readonly MailFacts[]): Found | undefined => {
  const isLong = id.includes('z');
  const recent = entries.filter(({at}) => isLong || Math.abs(line.at - Date.parse(at)) < shortIdMs);
  const fitting = recent.flatMap(mail => {
    const recipient = line.kind === 'delivery' ? recipientIn(mail, id, line) : '';
    return recipient === undefined ? [] : [{mail, recipient}];
  });
  // What mfd itself says of an id counts more than what servers say.
  const found = fitting.find(({mail}) => mail.queue_id === id) ?? fitting[0];
  if (!found) return undefined;
  const same = fitting.map(({mail}) => mail).filter(({queue_id}) => queue_id === found.mail.queue_id);
  // The entry about a release does not have it.
  const message_id = same.find(mail => mail.message_id !== null)?.message_id ?? null;
  return {...found, mail: {...found.mail, message_id}};
};

const recipientIn = (mail: MailFacts, id: string, line: DeliveryLine): string | undefined => {
  const {recipients, recipient_count} = mail;
  const isComplete = recipient_count <= recipients.length;
  if (line.isAmbiguous && !(isComplete && recipients.every(recipient => !recipient.includes('>')))) return undefined;
  const names = [line.originalTo ?? line.to, line.to].map(comparableAddress);
  const found = recipients.find(recipient => names.includes(comparableAddress(recipient)));
  return found ?? (!isComplete && mail.queue_id === id ? (line.originalTo ?? line.to) : undefined);
};

const givenUp = 'Postfix has tried for as long as it may';

const entryOf = (line: FateLine, mail: MailFacts, now: number): NewMailEvent => ({
  ...unknownMail,
  // A clock that is ahead must not move the log ahead.
  at: new Date(Math.min(line.at, now)).toISOString(),
  queue_id: mail.queue_id,
  direction: mail.direction,
  domain: mail.domain,
  domain_id: mail.domain_id,
  sender: mail.sender,
  recipients: mail.recipients,
  from: mail.from,
  subject: mail.subject,
  message_id: mail.message_id,
  client: mail.client,
  ...(line.kind === 'expired'
    ? {event: 'bounced', detail: givenUp}
    : {
        event: line.event,
        reply: line.reply,
        server: line.server,
        took_ms: line.tookMs,
        detail: [line.detail, ...elsewhere(line, mail)].filter(Boolean).join('; '),
      }),
});

/** Where the mail went to because of an alias. */
const elsewhere = ({to}: DeliveryLine, {recipients}: MailFacts): string[] =>
  recipients.some(recipient => comparableAddress(recipient) === comparableAddress(to)) ? [] : [`for ${to}`];
