// Digests: how long one node takes for those of ten thousand recipients.
import {join} from 'node:path';
import {startNode} from '../helpers/node.ts';
import {openTestStore} from '../helpers/store.ts';
import {storedMail} from '../helpers/stored-mail.ts';
import type {Bench} from './bench.ts';
import {startCountingSink} from './counting-sink.ts';

const row = 'digests';
const perTransaction = 500;

export const digests: Bench = {
  name: 'digests',
  seconds: 120,
  rows: [
    {
      name: row,
      title: 'digests for 10,000 recipients, signed, three mails each',
      anchor: '',
      wanted: {atMost: 60_000},
      unit: 'ms',
    },
  ],
  async run({owner, isQuick, report}) {
    const sink = await startCountingSink(owner);
    const node = await startNode(owner, {
      config: {log: {level: 'warn'}, recipients: {url: 'https://mail.example.com'}},
    });
    const fields = {name: 'example.com', backend_servers: [`${sink.server.host}:${sink.server.port}`], dkim_active: true};
    const {id, name} = (await node.api('POST', 'domains', {body: fields})).json.data;
    await node.api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'rsa-2048'}});
    await node.api('PUT', `domains/${id}/digest`, {body: {enabled: true}});
    const count = isQuick ? 1000 : 10_000;
    const store = await openTestStore(join(node.data, 'mfd.db'));
    for (let n = 0; n < 3 * count; n += perTransaction)
      await store.transaction(async tx =>
        tx.hold.insert(
          Array.from({length: perTransaction}, (_, k) =>
            storedMail({
              queue_id: `digest${String(n + k).padStart(6, '0')}`,
              arrived_at: new Date().toISOString(),
              subject: `Your invoice number ${n + k}`,
              score: 7,
              ...{domain: name, domain_id: id, recipients: [`user${(n + k) % count}@${name}`]},
            }),
          ),
        ),
      );
    await store.close();

    const startedAt = performance.now();
    // It goes on when the answer has to come.
    await node.api('POST', `domains/${id}/digest/send`);
    await sink.reached(count);
    const tookMs = performance.now() - startedAt;
    report(row, {value: (tookMs / count) * 10_000, own: `${count} in ${(tookMs / 1000).toFixed(1)} s`});
    await node.stop();
  },
};
