// Nodes and the receiver of a webhook that are killed repeatedly: each event in the log of a node arrives, signed, with the id that it has there.
import {setTimeout as delay} from 'node:timers/promises';
import {createClosers} from '../../daemon/node/closers.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import {startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {holdAll, type MailNode} from '../helpers/mail-node.ts';
import {type Delivery, startReceiver} from '../helpers/webhook-receiver.ts';
import type {Fault} from './fault.ts';
import type {Random} from './random.ts';

/** A receiver that is away at the second try is tried again after five minutes only: it is killed more seldom than it is tried. */
const receiverPauseMs = 8000;
/** From the last kill until everything has arrived: the wait after a second failure, and its jitter. */
const arrivalMs = 345_000;

export const webhookKill: Fault = {
  name: 'webhook-kill',
  title: 'nodes and the receiver of their webhook killed at random under load',
  rounds: 300,
  shortRounds: 8,
  pass: 'every event in the logs arrives, each signed; ids repeat only where something was killed',

  async run({rounds, isShort, owner, randomOf, say}) {
    const sites = await Promise.all((isShort ? [1] : [1, 2]).map(async () => startWebhookSite(owner)));
    let done = 0;
    await Promise.all(
      sites.map(async (site, n) => {
        for (let round = n + 1; round <= rounds; round += sites.length) {
          await site.killRound(randomOf(round));
          done += 1;
          if (done % 25 === 0) say(`${done} of ${rounds} rounds`);
        }
      }),
    );
    const judged = await Promise.all(sites.map(async site => site.judge()));
    const sum = (of: (one: (typeof judged)[number]) => number) => judged.reduce((total, one) => total + of(one), 0);
    return {
      rounds: done,
      violations: judged.flatMap(({violations}) => violations),
      figures: {
        'kills of nodes': sum(({nodeKills}) => nodeKills),
        'kills of receivers': sum(({receiverKills}) => receiverKills),
        events: sum(({events}) => events),
        'arrived again': sum(({again}) => again),
      },
    };
  },
};

const startWebhookSite = async (owner: Owner) => {
  const {nodes} = await startCluster(owner, {
    nodes: ['alpha', 'beta'],
    isProxied: false,
    config: {webhooks: {allow_networks: ['127.0.0.1']}, log: {level: 'warn'}},
  });
  const all = Object.values(nodes);
  const {name} = await nodes.alpha.createDomain(holdAll);
  const receiver = createMortalReceiver(owner);
  await receiver.start();
  const {json} = await nodes.alpha.api('POST', 'webhooks', {body: {url: receiver.url()}});
  receiver.trust(json.data.secret);
  await eventually(async () => (await nodes.beta.api('GET', 'webhooks')).json.data.length === 1);
  let nodeKills = 0;

  return {
    async killRound(random: Random): Promise<void> {
      const load = startLoad(all, name);
      await delay(random.between(50, 500));
      if (random.chance(0.3) && receiver.mayDie()) {
        await receiver.kill();
        await delay(random.between(0, 300));
        await receiver.start();
      } else {
        const victim = random.pick(all);
        nodeKills += 1;
        await victim.stop('SIGKILL');
        await victim.start();
      }
      await load.stop();
    },
    async judge() {
      const logged = (await Promise.all(all.map(logOf))).flat();
      const missing = () => {
        const arrived = new Set(receiver.received().map(({id}) => id));
        return logged.filter(({id}) => !arrived.has(id));
      };
      await eventually(() => missing().length === 0, arrivalMs).catch(() => {});
      const known = new Map(logged.map(entry => [entry.id, entry]));
      const wrong = receiver
        .received()
        .filter(({id, type, data}) => known.get(id)?.event !== type || known.get(id)?.queue_id !== data.queue_id);
      return {
        violations: [
          ...missing().map(({id, event, at}) => `${event} ${id} of ${at} never arrived`),
          ...wrong.map(({id, type}) => `${type} ${id} arrived, and is not so in the log`),
          ...receiver.forged(),
        ],
        ...{nodeKills, receiverKills: receiver.kills(), events: logged.length},
        again: receiver.received().length - new Set(receiver.received().map(({id}) => id)).size,
      };
    },
  };
};

/** All entries of a node, which is the only one that writes them. */
const logOf = async (node: MailNode): Promise<MailEvent[]> => {
  const entries: MailEvent[] = [];
  for (let cursor = ''; ; ) {
    const {json} = await node.api('GET', `mail/trace?limit=1000&node=${node.node_id}${cursor}`);
    entries.push(...json.data);
    if (json.data.length < 1000) return entries;
    cursor = `&cursor=${entries.at(-1)?.id}`;
  }
};

/** Mail to all nodes; a killed one answers nothing. */
const startLoad = (nodes: readonly MailNode[], domain: string) => {
  let isOver = false;
  const send = async (node: MailNode): Promise<void> => {
    for (let n = 0; !isOver; n += 1) {
      const sent = node.send(`Subject: ${n}\r\n\r\nx\r\n`, {to: `u${n}@${domain}`}).catch(async () => delay(20));
      // The connection of a client to a node that was killed may say nothing.
      await Promise.race([sent, delay(2000)]);
    }
  };
  const sending = nodes.flatMap(node => [send(node), send(node)]);
  return {
    async stop() {
      isOver = true;
      await Promise.all(sending);
    },
  };
};

/** A receiver whose connections break when it is killed, and that forgets nothing of what it answered 200. */
const createMortalReceiver = (owner: Owner) => {
  const received: Delivery[] = [];
  const forged: string[] = [];
  let kills = 0;
  let killedAt = 0;
  let secret: string | undefined;
  let port = 0;
  let life = createClosers(() => {});
  owner.teardown(async () => life.closeAll());
  let current: Awaited<ReturnType<typeof startReceiver>> | undefined;
  return {
    received: () => received,
    forged: () => [...forged, ...(current?.forged ?? [])],
    kills: () => kills,
    url: () => current?.url ?? '',
    mayDie: () => Date.now() - killedAt > receiverPauseMs,
    trust(given: string) {
      secret = given;
      if (current) current.secret = given;
    },
    async start() {
      life = createClosers(() => {});
      const answer = (delivery: Delivery) => {
        received.push(delivery);
        return 200;
      };
      current = await startReceiver({teardown: life.add}, {port, answer});
      if (secret !== undefined) current.secret = secret;
      port = Number(new URL(current.url).port);
    },
    async kill() {
      forged.push(...(current?.forged ?? []));
      kills += 1;
      killedAt = Date.now();
      await life.closeAll();
    },
  };
};
