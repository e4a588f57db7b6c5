// The outside ledger: every 250, every acknowledgement of the API and every delivery, as clients and backends saw them. It judges
// what a node may have lost or doubled, and knows nothing of the node's files. Of the configuration it knows values that only grow,
// and records that are created and deleted.

export interface SentMail {
  /** Identifies the mail: part of its Message-ID and Subject. */
  token: string;
  /** As it was sent. */
  raw: string;
  /** The backend must not receive it before it is released. */
  isToBeHeld?: boolean;
}

export interface HeldFound {
  queue_id: string;
  subject: string;
  node_id?: string;
}

export interface ConfigurationFound {
  /** Values of changed fields, by name. */
  values: ReadonlyMap<string, number>;
  /** Existing records, by name, and whether they are valid or revoked. */
  records?: ReadonlyMap<string, boolean>;
}

/** The state of nodes and backends after a fault. */
export interface Found extends ConfigurationFound {
  held: readonly HeldFound[];
  /** Tokens of the mails that the backend has received, one for each delivery. */
  delivered: readonly string[];
}

export type Action = 'release' | 'discard';

export interface Ledger {
  /**
   * Called before its final dot: from here on the mail may exist. Called again for the same mail when it was not answered and is
   * sent again.
   */
  sending(mail: SentMail): void;
  /** A 250 that said that the mail is held, by the node that gave this answer. */
  accepted(token: string, queueId: string, nodeId?: string): void;
  /** A 250 that the node sent after the backend's own. */
  relayed(token: string): void;
  /** These mails were in a list: a mail that was sent without an answer may be held all the same, and then must stay. */
  listed(held: readonly HeldFound[]): void;
  /** Called before an action is requested: from here on it may have been done. */
  acting(queueId: string, action: Action): void;
  /** After the answer 200. */
  acted(queueId: string, action: Action): void;
  /**
   * These nodes ended. A release there that had reached the backend and was not answered may be repeated once: its node died
   * between the delivery and the row.
   */
  died(nodeIds: readonly string[], delivered: readonly string[]): void;
  /** Before value `value` is written; values of one name only grow. */
  changing(name: string, value: number): void;
  /** After the answer 200. */
  changed(name: string, value: number): void;
  /** Before the request that creates a record, and before the one that deletes it: from here on it may have happened. */
  making(name: string): void;
  ending(name: string): void;
  /** After the answer 201, and after the 200 of its deletion. */
  made(name: string): void;
  ended(name: string): void;
  /** The mail that was sent with this token. */
  rawOf(token: string): string | undefined;
  /** Mails whose action was acknowledged. */
  ends(): {queueId: string; nodeId: string | undefined; action: Action}[];
  /** Lost and doubled mails, a line each. `mayDouble` decides for which mails any number of deliveries is allowed. */
  judge(found: Found, mayDouble?: (token: string) => boolean): string[];
  /** The same for the configuration only, on another node that must have it too. */
  judgeConfiguration(found: ConfigurationFound): string[];
  readonly counts: {
    readonly accepted: number;
    readonly relayed: number;
    readonly acted: number;
    readonly changed: number;
    /** Permitted second copies and second deliveries: of mails whose final state was never acknowledged. */
    readonly doubled: number;
  };
}

/** The result of one attempt to send a mail. */
interface Copy {
  queueId: string;
  nodeId: string | undefined;
  asked: Set<Action>;
  done?: Action;
  /** How often its node died between its delivery and its row. */
  interruptions: number;
}

interface Account extends SentMail {
  attempts: number;
  isRelayed: boolean;
  copies: Copy[];
}

interface Value {
  asked: number;
  acknowledged: number;
}

interface Entry {
  isMade: boolean;
  mayBeEnded: boolean;
  isEnded: boolean;
}

export const createLedger = (): Ledger => {
  const mails = new Map<string, Account>();
  const copies = new Map<string, {copy: Copy; account: Account}>();
  const values = new Map<string, Value>();
  const records = new Map<string, Entry>();
  const counts = {accepted: 0, relayed: 0, acted: 0, changed: 0};
  let doubled = 0;

  const accountOf = (token: string): Account => {
    const account = mails.get(token);
    if (!account) throw new Error(`no mail ${token} was sent`);
    return account;
  };
  const addCopy = (account: Account, queueId: string, nodeId: string | undefined) => {
    const copy: Copy = {queueId, nodeId, asked: new Set(), interruptions: 0};
    account.copies.push(copy);
    copies.set(queueId, {copy, account});
  };

  const changeOf = (name: string) => {
    const value = values.get(name) ?? {asked: 0, acknowledged: 0};
    values.set(name, value);
    return value;
  };
  const entryOf = (name: string): Entry => {
    const entry = records.get(name) ?? {isMade: false, mayBeEnded: false, isEnded: false};
    records.set(name, entry);
    return entry;
  };
  const judgeConfiguration = (found: ConfigurationFound) => [...wrongValues(values, found), ...wrongRecords(records, found)];

  return {
    judgeConfiguration,
    get counts() {
      return {...counts, doubled};
    },
    sending(mail) {
      const known = mails.get(mail.token);
      if (known) known.attempts += 1;
      else mails.set(mail.token, {...mail, attempts: 1, isRelayed: false, copies: []});
    },
    accepted(token, queueId, nodeId) {
      addCopy(accountOf(token), queueId, nodeId);
      counts.accepted += 1;
    },
    relayed(token) {
      accountOf(token).isRelayed = true;
      counts.relayed += 1;
    },
    listed(held) {
      for (const {queue_id, subject, node_id} of held) {
        const account = mails.get(subject);
        if (account && !copies.has(queue_id)) addCopy(account, queue_id, node_id);
      }
    },
    acting: (queueId, action) => void copies.get(queueId)?.copy.asked.add(action),
    acted(queueId, action) {
      const found = copies.get(queueId);
      if (found) found.copy.done = action;
      counts.acted += 1;
    },
    died(nodeIds, delivered) {
      const deliveries = tallyOf(delivered);
      for (const {copy, account} of copies.values()) {
        const isInterrupted = copy.nodeId !== undefined && nodeIds.includes(copy.nodeId) && copy.done === undefined;
        const wasDelivered = (deliveries.get(account.token) ?? 0) > copy.interruptions;
        if (isInterrupted && wasDelivered && copy.asked.has('release')) copy.interruptions += 1;
      }
    },
    changing(name, value) {
      changeOf(name).asked = value;
    },
    changed(name, value) {
      changeOf(name).acknowledged = value;
      counts.changed += 1;
    },
    making: name => void entryOf(name),
    ending(name) {
      entryOf(name).mayBeEnded = true;
    },
    made(name) {
      entryOf(name).isMade = true;
      counts.changed += 1;
    },
    ended(name) {
      entryOf(name).isEnded = true;
      counts.changed += 1;
    },
    rawOf: token => mails.get(token)?.raw,
    ends: () => [...copies.values()].flatMap(({copy: {queueId, nodeId, done}}) => (done ? {queueId, nodeId, action: done} : [])),

    judge(found, mayDouble = () => false) {
      const held = new Set(found.held.map(({queue_id}) => queue_id));
      const deliveries = tallyOf(found.delivered);
      const known = [...mails.values()];
      doubled = known.reduce((sum, account) => sum + doublesOf(account, deliveries.get(account.token) ?? 0), 0);

      const wrong = known.flatMap(account => {
        const seen = {held, deliveries: deliveries.get(account.token) ?? 0, mayDouble: mayDouble(account.token)};
        return [...account.copies.flatMap(copy => copyViolations(account, copy, seen)), ...mailViolations(account, seen)];
      });
      if (held.size < found.held.length) wrong.push(`${found.held.length - held.size} mails are listed twice`);
      for (const {queue_id, subject} of found.held)
        if (!copies.has(queue_id) && !mails.has(subject)) wrong.push(`${queue_id} is held and was never sent: ${subject}`);
      for (const token of deliveries.keys()) if (!mails.has(token)) wrong.push(`${token} was delivered and never sent`);
      return [...wrong, ...judgeConfiguration(found)];
    },
  };
};

const tallyOf = (tokens: readonly string[]): Map<string, number> => {
  const tally = new Map<string, number>();
  for (const token of tokens) tally.set(token, (tally.get(token) ?? 0) + 1);
  return tally;
};

const doublesOf = ({copies}: Account, deliveries: number): number => {
  const released = copies.filter(({asked}) => asked.has('release')).length;
  return Math.max(0, copies.length - 1) + Math.max(0, deliveries - Math.max(1, released));
};

interface Seen {
  held: ReadonlySet<string>;
  deliveries: number;
  mayDouble: boolean;
}

type Rule = [isBroken: boolean, rule: string];

const copyViolations = ({token}: Account, {queueId, asked, done}: Copy, {held, deliveries}: Seen): string[] => {
  const isHeld = held.has(queueId);
  const isDelivered = deliveries > 0;
  const mustBeReleased = done === undefined && asked.size === 1 && asked.has('release');
  const rules: Rule[] = [
    [!isHeld && asked.size === 0, 'was acknowledged or listed, and is not held'],
    [!isHeld && mustBeReleased && !isDelivered, 'left the queue by a release and was not delivered'],
    [done !== undefined && isHeld, `is held after its ${done} was acknowledged`],
    [done === 'release' && !isDelivered, 'was released and not delivered'],
  ];
  return broken(rules, `${token} (${queueId})`);
};

const mailViolations = (account: Account, {deliveries, mayDouble}: Seen): string[] => {
  const {token, attempts, isRelayed, isToBeHeld, copies} = account;
  const mayBeDelivered = deliveriesOf(account);
  const isHeldBack = isToBeHeld === true || copies.length > 0;
  const rules: Rule[] = [
    [isRelayed && deliveries === 0, 'was relayed and not delivered'],
    [isHeldBack && deliveries > 0 && mayBeDelivered === 0, 'was to be held, and was delivered though nobody released it'],
    [deliveries > mayBeDelivered && mayBeDelivered > 0 && !mayDouble, `was delivered ${deliveries} times, not ${mayBeDelivered}`],
    [copies.length > attempts, `is held ${copies.length} times, and was sent ${attempts} times`],
  ];
  return broken(rules, token);
};

/** The largest permitted number of deliveries: one for each copy that was to be released, or one for each attempt to send it. */
const deliveriesOf = ({attempts, isToBeHeld, copies}: Account): number => {
  if (!isToBeHeld && copies.length === 0) return attempts;
  const released = copies.filter(({asked}) => asked.has('release'));
  return released.reduce((sum, {interruptions}) => sum + 1 + interruptions, 0);
};

const broken = (rules: readonly Rule[], what: string): string[] =>
  rules.filter(([isBroken]) => isBroken).map(([, rule]) => `${what} ${rule}`);

const wrongValues = (values: ReadonlyMap<string, Value>, found: ConfigurationFound): string[] =>
  [...values].flatMap(([name, {asked, acknowledged}]) => {
    const value = found.values.get(name);
    const isRight = value !== undefined && acknowledged <= value && value <= asked;
    return isRight ? [] : [`${name} is ${value}, where ${acknowledged} was acknowledged and ${asked} asked for`];
  });

const wrongRecords = (records: ReadonlyMap<string, Entry>, {records: found = new Map()}: ConfigurationFound): string[] => [
  ...[...records].flatMap(([name, {isMade, mayBeEnded, isEnded}]) => {
    const isGood = found.get(name) ?? false;
    if (isMade && !mayBeEnded && !isGood) return [`${name} was acknowledged and is not there`];
    return isEnded && isGood ? [`${name} is there after its end was acknowledged`] : [];
  }),
  ...[...found.keys()].filter(name => !records.has(name)).map(name => `${name} is there and nobody asked for it`),
];
