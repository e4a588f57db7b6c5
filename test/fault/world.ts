// A node and its clients, with everything they do in the ledger: mail to hold, mail to relay, actions, changes.

import type {Owner} from '../helpers/daemon.ts';
import {eventually, type Held, holdAll, type MailNode, relayAll, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import type {NodeOptions} from '../helpers/node.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {createLedger, type Ledger} from './ledger.ts';

export interface World {
  node: MailNode;
  ledger: Ledger;
  /** Sends one mail; resolves with the code of the reply. */
  send(mail: {sizeBytes: number; to?: 'held' | 'relayed'}): Promise<number>;
  /** Requests an action; resolves with the status. */
  act(action: 'release' | 'discard', queueId: string): Promise<number>;
  /** Discards in bulk, and throws when an answer is wrong. */
  discardAll(queueIds: readonly string[]): Promise<void>;
  /** Writes the next value of a domain; resolves with the status. One at a time for each name. */
  change(name: string): Promise<number>;
  /** The current value of a domain, read from the node. */
  valueOf(name: string): Promise<number>;
  /** Errors in the bytes of these mails, a line each. */
  wrongBodies(mails: readonly Held[]): Promise<string[]>;
  /** The ledger's judgement of the current state. */
  judge(): Promise<string[]>;
}

interface Options extends NodeOptions {
  /** Domains that are changed, besides the two that get mail. */
  domains?: readonly string[];
}

const recipients = {held: 'ben@example.com', relayed: 'ben@relay.example'};

export const startWorld = async (owner: Owner, {domains = ['changed.example'], ...options}: Options = {}): Promise<World> => {
  const node = await startMailNode(owner, {...options, domain: holdAll});
  await node.createDomain({name: 'relay.example', ...relayAll});
  const ids = new Map<string, number>();
  for (const name of domains) ids.set(name, (await node.createDomain({name, tenant_id: 0})).id);
  const ledger = createLedger();
  const asked = new Map<string, number>();
  let sent = 0;

  const idOf = (name: string): number => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`no domain ${name} was made`);
    return id;
  };

  const world: World = {
    node,
    ledger,

    async send({sizeBytes, to = 'held'}) {
      sent += 1;
      const token = `t${sent}`;
      const line = `${token.padEnd(76, '.')}\r\n`;
      const raw = `Subject: ${token}\r\nMessage-ID: <${token}@example.net>\r\n\r\n${line.repeat(Math.ceil(sizeBytes / line.length))}`;
      ledger.sending({token, raw});
      const {reply} = await sendMail({port: node.smtpPort, from: 'ada@example.net', to: recipients[to], raw});
      const queueId = /queued as (\w+)/.exec(reply.text)?.[1];
      if (reply.code === 250 && to === 'relayed') ledger.relayed(token);
      else if (reply.code === 250) ledger.accepted(token, queueId ?? 'without an id');
      return reply.code;
    },

    async act(action, queueId) {
      ledger.acting(queueId, action);
      const {status} = await node.api('POST', `mail/quarantine/${node.node_id}/${queueId}/${action}`);
      if (status === 200) ledger.acted(queueId, action);
      return status;
    },

    async discardAll(queueIds) {
      for (let from = 0; from < queueIds.length; from += 1000) {
        const some = queueIds.slice(from, from + 1000);
        for (const queueId of some) ledger.acting(queueId, 'discard');
        const items = some.map(queue_id => ({node_id: node.node_id, queue_id}));
        const {status, json, body} = await node.api('POST', 'mail/quarantine/discard', {body: {items}});
        if (status !== 200) throw new Error(`bulk discard: ${status} ${body}`);
        for (const {queue_id, state} of json.data as {queue_id: string; state?: string}[])
          if (state === 'discarded') ledger.acted(queue_id, 'discard');
      }
    },

    async change(name) {
      const value = (asked.get(name) ?? 0) + 1;
      asked.set(name, value);
      ledger.changing(name, value);
      const {status} = await node.api('PUT', `domains/${idOf(name)}`, {body: {tenant_id: value}});
      if (status === 200) ledger.changed(name, value);
      return status;
    },

    async valueOf(name) {
      const {status, json, body} = await node.api('GET', `domains/${idOf(name)}`);
      if (status !== 200) throw new Error(`GET of ${name}: ${status} ${body}`);
      return Number(json.data.tenant_id);
    },

    async wrongBodies(mails) {
      const wrong: string[] = [];
      for (const mail of mails) {
        const raw = ledger.rawOf(mail.subject);
        const body = await node.body(mail).catch((error: Error) => error);
        if (body instanceof Error) wrong.push(body.message);
        else if (raw === undefined || !splitTrace(body).rest.equals(Buffer.from(raw)))
          wrong.push(`${mail.queue_id} (${mail.subject}) is not what was sent`);
      }
      return wrong;
    },

    async judge() {
      const values = new Map<string, number>();
      for (const name of ids.keys()) {
        // The ledger reports a domain that no longer exists.
        const value = await world.valueOf(name).catch(() => undefined);
        if (value !== undefined) values.set(name, value);
      }
      const delivered = node.sink.mails.map(({content}) => /^Subject: (\w+)/m.exec(content.toString('latin1'))?.[1] ?? '?');
      return ledger.judge({held: await eventually(node.allHeld), delivered, values});
    },
  };
  return world;
};
