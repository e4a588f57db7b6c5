// Digests: how long one node takes for those of ten thousand recipients, and what intake is beside them.
import {join} from 'node:path';
import {relayAll} from '../helpers/mail-node.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {openTestStore} from '../helpers/store.ts';
import {storedMail} from '../helpers/stored-mail.ts';
import {alternate, timed} from './alternate.ts';
import type {Bench, BenchContext} from './bench.ts';
import {type CountingSink, startCountingSink} from './counting-sink.ts';
import {createExampleDomain} from './example-domain.ts';
import {quantilesOf} from './quantiles.ts';
import {kept} from './smtp.ts';
import {startBareBackend, startSmtpLoad} from './smtp-load.ts';

const time = 'digests';
const intake = 'digests-intake';
const perTransaction = 500;

export const digests: Bench = {
  name: 'digests',
  seconds: 240,
  rows: [
    {
      name: time,
      title: 'digests for 10,000 recipients, signed, three mails each',
      anchor: '',
      wanted: {atMost: 60_000},
      unit: 'ms',
    },
    {
      name: intake,
      title: 'relayed mail of 10 KB, 8 kept sessions, while digests are sent',
      anchor: 'without',
      wanted: {atLeast: 0.7},
      unit: '×',
    },
  ],
  async run(context) {
    const {owner, isWanted} = context;
    const sink = await startCountingSink(owner);
    const node = await startNode(owner, {
      config: {log: {level: 'warn'}, recipients: {url: 'https://mail.example.net'}, smtp: {reverse_lookup: false}},
    });
    const stage = {context, sink, node};
    if (isWanted(time)) await measureTime(stage);
    if (isWanted(intake)) await measureIntake(stage);
    await node.stop();
  },
};

interface Stage {
  context: BenchContext;
  sink: CountingSink;
  node: TestNode;
}

const measureTime = async (stage: Stage): Promise<void> => {
  const {isQuick, report} = stage.context;
  const count = isQuick ? 1000 : 10_000;
  const send = await arrange(stage, 'time.example.net', count);
  const tookMs = await timed(send);
  report(time, {value: (tookMs / count) * 10_000, own: `${count} in ${(tookMs / 1000).toFixed(1)} s`});
};

const measureIntake = async (stage: Stage): Promise<void> => {
  const {node, sink} = stage;
  const {owner, isQuick, report} = stage.context;
  const backend = `127.0.0.1:${await startBareBackend(owner)}`;
  await createExampleDomain(node, backend, relayAll);
  const load = startSmtpLoad(owner);
  const rate = async () => load.rate({...kept, port: node.smtpPort, count: isQuick ? 1500 : 6000});
  const recipients = isQuick ? 1000 : 3000;
  let round = 0;
  const {without, beside} = await alternate(
    {
      without: rate,
      async beside() {
        round += 1;
        const send = await arrange(stage, `intake${round}.example.net`, recipients);
        const before = sink.delivered();
        const sending = send();
        await sink.reached(before + 1);
        const measured = await rate();
        if (sink.delivered() >= before + recipients) throw new Error('the digests were sent before the load was');
        await sending;
        return measured;
      },
    },
    {rounds: isQuick ? 2 : 5},
  );
  const [own, anchor] = [quantilesOf(beside).p50, quantilesOf(without).p50];
  report(intake, {value: own / anchor, own: `${Math.round(own)} mails/s`, anchor: `${Math.round(anchor)} mails/s`});
};

/** A domain with `count` recipients, for each of whom three mails are held. What is returned resolves once all have their digest. */
const arrange = async ({sink, node}: Stage, domain: string, count: number): Promise<() => Promise<void>> => {
  const fields = {name: domain, backend_servers: [`${sink.server.host}:${sink.server.port}`], dkim_active: true};
  const {id} = (await node.api('POST', 'domains', {body: fields})).json.data;
  await node.api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'rsa-2048'}});
  await node.api('PUT', `domains/${id}/digest`, {body: {enabled: true}});
  const store = await openTestStore(join(node.data, 'mfd.db'));
  for (let n = 0; n < 3 * count; n += perTransaction)
    await store.transaction(async tx =>
      tx.hold.insert(
        Array.from({length: perTransaction}, (_, k) =>
          storedMail({
            queue_id: `${id}x${String(n + k).padStart(6, '0')}`,
            arrived_at: new Date().toISOString(),
            subject: `Your invoice number ${n + k}`,
            score: 7,
            ...{domain, domain_id: id, recipients: [`user${(n + k) % count}@${domain}`]},
          }),
        ),
      ),
    );
  await store.close();
  return async () => {
    const before = sink.delivered();
    // It goes on when the answer has to come.
    await node.api('POST', `domains/${id}/digest/send`);
    await sink.reached(before + count);
  };
};
