// Webhooks: how many events a second one node sends to one address that answers at once. Each is verified.
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {NewMailEvent} from '../../daemon/services/events/mail-event.ts';
import {selfSigned} from '../helpers/certificate.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayedEvent} from '../helpers/mail-event.ts';
import {startNode} from '../helpers/node.ts';
import {openTestStore, testFolder} from '../helpers/store.ts';
import {startReceiver} from '../helpers/webhook-receiver.ts';
import type {Bench, BenchContext} from './bench.ts';

const rows = [
  {name: 'webhook', title: 'events sent to one webhook, plain HTTP', isEncrypted: false},
  {name: 'webhook-tls', title: 'events sent to one webhook, HTTPS', isEncrypted: true},
] as const;

export const webhooks: Bench = {
  name: 'webhooks',
  seconds: 120,
  rows: rows.map(({name, title}) => ({name, title, anchor: '', wanted: {atLeast: 1000}, unit: '/s'})),
  async run(context) {
    for (const {name, isEncrypted} of rows) if (context.isWanted(name)) await measure(context, name, isEncrypted);
  },
};

const perTransaction = 1000;

const measure = async ({owner, isQuick, report}: BenchContext, row: string, isEncrypted: boolean): Promise<void> => {
  const {receiver, env} = await startEndpoint(owner, isEncrypted);
  const node = await startNode(owner, {env, config: {log: {level: 'warn'}, webhooks: {allow_networks: ['127.0.0.0/8', '::1']}}});
  const since = new Date().toISOString();
  const count = isQuick ? 3000 : 20_000;
  const store = await openTestStore(join(node.data, 'mfd.db'));
  for (let n = 0; n < count; n += perTransaction)
    await store.transaction(async tx => tx.events.append(Array.from({length: perTransaction}, (_, k) => eventOf(n + k))));
  await store.close();

  const {json} = await node.api('POST', 'webhooks', {body: {url: receiver.url}});
  receiver.secret = json.data.secret;
  const usedBefore = await processorSeconds(node.pid());
  const startedAt = performance.now();
  await node.api('POST', `webhooks/${json.data.id}/replay`, {body: {since}});
  await eventually(() => receiver.received.length >= count, 300_000);
  const seconds = (performance.now() - startedAt) / 1000;
  if (receiver.forged.length > 0) throw new Error(receiver.forged[0]);
  const used = (await processorSeconds(node.pid())) - usedBefore;
  report(row, {
    value: count / seconds,
    own: `${count} in ${seconds.toFixed(1)} s, ${used.toFixed(1)} s of processor time of the node`,
  });
  await node.stop();
};

const startEndpoint = async (owner: Owner, isEncrypted: boolean) => {
  if (!isEncrypted) return {receiver: await startReceiver(owner), env: {}};
  const tls = await selfSigned('localhost');
  const receiver = await startReceiver(owner, {tls});
  receiver.url = receiver.url.replace('127.0.0.1', 'localhost');
  const file = join(await testFolder(owner), 'ca.pem');
  await writeFile(file, tls.cert);
  return {receiver, env: {NODE_EXTRA_CA_CERTS: file}};
};

const eventOf = (n: number): NewMailEvent =>
  relayedEvent(n, {
    at: new Date().toISOString(),
    direction: 'inbound',
    sender: `news${n % 7000}@letters${n % 300}.example`,
    recipients: [`user${n % 20_000}@d${n % 50}.example`],
    subject: `Your invoice number ${n}`,
    message_id: `${n.toString(36)}@mail.example`,
    client: {ip: '198.51.100.7', name: 'mx.example', helo: 'mx.example', tls: true},
    symbols: ['SPF_ALLOW', 'DKIM_ALLOW', 'DMARC_ALLOW', 'R_MIXED', 'MIME_GOOD'],
    reply: '250 2.0.0 Ok: queued as 4XyzAbCdEf',
  });

/** Of user and system; Linux counts in hundredths. */
const processorSeconds = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
