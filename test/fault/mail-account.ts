// An account of mail that was acknowledged: each has arrived at the backend once, or is held once, or was a report that was read.
import type {MailNode} from '../helpers/mail-node.ts';
import type {SinkMail} from '../helpers/smtp-sink.ts';

export interface MailAccount {
  acknowledged(queueId: string, kind: 'mail' | 'report'): void;
  /** Mail as the backend got it. */
  delivered(mail: SinkMail): void;
  /** The content of a mail that was delivered to a recipient of `kept`, once; undefined for others. */
  takeContent(queueId: string): string | undefined;
  /** Notes the held mail of a domain, and discards it. Resolves with how many there were. */
  sweep(node: MailNode, domain: string): Promise<number>;
  counts: {delivered: number; held: number};
  violations(): string[];
}

/** `kept`: the domain whose delivered mail is kept to be read. */
export const createMailAccount = (kept: string): MailAccount => {
  const acknowledged = new Map<string, 'mail' | 'report'>();
  const seen = new Map<string, string[]>();
  const contents = new Map<string, string>();
  const wrong: string[] = [];
  const counts = {delivered: 0, held: 0};
  const note = (queueId: string, where: 'delivered' | 'held') => {
    counts[where] += 1;
    seen.set(queueId, [...(seen.get(queueId) ?? []), where]);
  };

  return {
    counts,
    acknowledged: (queueId, kind) => void acknowledged.set(queueId, kind),
    delivered({content, recipients}) {
      const text = content.toString('latin1');
      const queueId = /^Received:[^;]*?\sid\s+(\w+)/.exec(text.slice(0, 2000))?.[1] ?? 'without an id';
      if (recipients.every(recipient => recipient.endsWith(`@${kept}`))) contents.set(queueId, text);
      else note(queueId, 'delivered');
    },
    takeContent(queueId) {
      const content = contents.get(queueId);
      contents.delete(queueId);
      return content;
    },

    async sweep(node, domain) {
      const held = await node.held(`domain=${domain}&limit=1000`);
      if (held.length === 0) return 0;
      const items = held.map(({node_id, queue_id}) => ({node_id, queue_id}));
      const {status, json, body} = await node.api('POST', 'mail/quarantine/discard', {body: {items}});
      if (status !== 200) throw new Error(`bulk discard: ${status} ${body}`);
      for (const {queue_id, state, error} of json.data as {queue_id: string; state?: string; error?: unknown}[])
        if (state === 'discarded') note(queue_id, 'held');
        else wrong.push(`${queue_id} was held and is ${state ?? JSON.stringify(error)}`);
      return held.length;
    },

    violations() {
      const ids = new Set([...acknowledged.keys(), ...seen.keys()]);
      const judged = [...ids].flatMap(queueId => {
        const kind = acknowledged.get(queueId);
        const places = seen.get(queueId) ?? [];
        const isRight =
          kind === 'mail' ? places.length === 1 : kind === 'report' && places.length <= 1 && places[0] !== 'delivered';
        return isRight ? [] : [`${queueId} (${kind ?? 'never acknowledged'}) is ${places.join(' and ') || 'lost'}`];
      });
      return [...wrong, ...judged];
    },
  };
};
