// The outside ledger: every 250, every acknowledgement of the API and every delivery, as the world outside was told. It is the
// judge of what a node may have lost or doubled, and knows nothing of the node's files.

export interface SentMail {
  /** What tells it from every other: its Message-ID and Subject. */
  token: string;
  /** As it was sent. */
  raw: string;
}

export interface HeldFound {
  queue_id: string;
  subject: string;
}

/** What nodes and backends have after a fault. */
export interface Found {
  held: readonly HeldFound[];
  /** Tokens of the mails that the backend has had, one for each delivery. */
  delivered: readonly string[];
  /** Values of what was changed, by name. */
  values: ReadonlyMap<string, number>;
}

export interface Ledger {
  /** Before its final dot: from here on the mail may exist. */
  sending(mail: SentMail): void;
  /** A 250 that said the mail is held. */
  accepted(token: string, queueId: string): void;
  /** A 250 that came after the backend's own. */
  relayed(token: string): void;
  /** Before an action is asked for: from here on it may have been done. */
  acting(queueId: string, action: 'release' | 'discard'): void;
  /** 200. */
  acted(queueId: string, action: 'release' | 'discard'): void;
  /** Before value `value` is written; values of one name only grow. */
  changing(name: string, value: number): void;
  /** 200. */
  changed(name: string, value: number): void;
  /** What was sent with this token. */
  rawOf(token: string): string | undefined;
  /**
   * What was lost or doubled, a line each. `mayDouble` says of which mails a second delivery is allowed: those whose node ended between
   * the backend's 250 and the row.
   */
  judge(found: Found, mayDouble?: (token: string) => boolean): string[];
  readonly counts: {readonly accepted: number; readonly relayed: number; readonly acted: number; readonly changed: number};
}

interface Account {
  token: string;
  queueId?: string;
  isRelayed: boolean;
  asked: Set<'release' | 'discard'>;
  done?: 'release' | 'discard';
}

export const createLedger = (): Ledger => {
  const mails = new Map<string, Account & {raw: string}>();
  const byQueueId = new Map<string, Account>();
  const values = new Map<string, {asked: number; acknowledged: number}>();
  const counts = {accepted: 0, relayed: 0, acted: 0, changed: 0};

  const accountOf = (token: string): Account => {
    const account = mails.get(token);
    if (!account) throw new Error(`no mail ${token} was sent`);
    return account;
  };
  const changeOf = (name: string) => {
    const value = values.get(name) ?? {asked: 0, acknowledged: 0};
    values.set(name, value);
    return value;
  };

  return {
    counts,
    sending: ({token, raw}) => void mails.set(token, {token, raw, isRelayed: false, asked: new Set()}),
    accepted(token, queueId) {
      const account = accountOf(token);
      account.queueId = queueId;
      byQueueId.set(queueId, account);
      counts.accepted += 1;
    },
    relayed(token) {
      accountOf(token).isRelayed = true;
      counts.relayed += 1;
    },
    acting: (queueId, action) => void byQueueId.get(queueId)?.asked.add(action),
    acted(queueId, action) {
      const account = byQueueId.get(queueId);
      if (account) account.done = action;
      counts.acted += 1;
    },
    changing(name, value) {
      changeOf(name).asked = value;
    },
    changed(name, value) {
      changeOf(name).acknowledged = value;
      counts.changed += 1;
    },
    rawOf: token => mails.get(token)?.raw,

    judge(found, mayDouble = () => false) {
      const held = new Set(found.held.map(({queue_id}) => queue_id));
      const deliveries = new Map<string, number>();
      for (const token of found.delivered) deliveries.set(token, (deliveries.get(token) ?? 0) + 1);

      const wrong = [...mails.values()].flatMap(account =>
        violationsOf(account, {
          isHeld: account.queueId !== undefined && held.has(account.queueId),
          deliveries: deliveries.get(account.token) ?? 0,
          mayDouble: mayDouble(account.token),
        }),
      );
      if (held.size < found.held.length) wrong.push(`${found.held.length - held.size} mails are listed twice`);
      for (const token of deliveries.keys()) if (!mails.has(token)) wrong.push(`${token} was delivered and never sent`);
      for (const [name, {asked, acknowledged}] of values) {
        const value = found.values.get(name);
        if (value === undefined || value < acknowledged || value > asked)
          wrong.push(`${name} is ${value}, where ${acknowledged} was acknowledged and ${asked} asked for`);
      }
      return wrong;
    },
  };
};

interface Seen {
  isHeld: boolean;
  deliveries: number;
  mayDouble: boolean;
}

const violationsOf = ({token, queueId, isRelayed, asked, done}: Account, {isHeld, deliveries, mayDouble}: Seen): string[] => {
  const isGone = queueId !== undefined && !isHeld;
  const isDelivered = deliveries > 0;
  const mustBeReleased = done === undefined && asked.size === 1 && asked.has('release');
  const rules: [boolean, string][] = [
    [isGone && asked.size === 0, 'was acknowledged and is not held'],
    [isGone && mustBeReleased && !isDelivered, 'left the queue by a release and was not delivered'],
    [done !== undefined && isHeld, `is held after its ${done} was acknowledged`],
    [done === 'release' && !isDelivered, 'was released and not delivered'],
    [done === 'discard' && isDelivered && !asked.has('release'), 'was discarded and delivered'],
    [isRelayed && !isDelivered, 'was relayed and not delivered'],
    [deliveries > 1 && !mayDouble, `was delivered ${deliveries} times`],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, rule]) => `${token}${queueId ? ` (${queueId})` : ''} ${rule}`);
};
