// Searches by the header From in a cluster with a node of 0.8, which knows nothing of it.
import {startEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {eventually} from '../helpers/eventually.ts';

testBesideEarlier(
  version =>
    `a node of ${version} is named as one that cannot search authors, and finds the mail that it held once it is upgraded`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startEarlier(t, release);
    const {name} = await alpha.createDomain();
    await converged();
    const from = (author: string) => ({to: `a@${name}`, headers: `From: "CEO" <${author}>\r\n`});
    const before = await alpha.hold(from('Ceo@Bank.test'));
    await upgrade(alpha);
    const after = await alpha.hold(from('cfo@bank.test'));
    const there = await beta.hold(from('ceo@bank.test'));
    await beta.hold(from('x@other.test'));
    const idsIn = ({json}: {json: {data: {queue_id: string}[]}}) => json.data.map(({queue_id}) => queue_id);
    const search = async (node: typeof alpha, query: string) => node.api('GET', `mail/quarantine?${query}`);

    // What the upgraded node held before is found once its header has been read.
    await eventually(async () => (await search(alpha, 'from=bank.test')).json.data.length === 2);
    for (const [query, expected] of [
      ['from=bank.test', [after, before]],
      ['from=ceo@bank.test', [before]],
      ['address=ceo@bank.test', [before]],
    ] as const) {
      const list = await search(alpha, query);
      t.deepEqual(
        idsIn(list),
        expected.map(({queue_id}) => queue_id),
        query,
      );
      t.is(list.headers['x-unreachable-nodes'], 'beta', query);
      t.is(list.json.message, 'Partial');
      t.is((await search(alpha, `${query}&strict=true`)).status, 503);
      const summary = await alpha.api('GET', `mail/quarantine/summary?${query}`);
      t.is(summary.json.data.count, expected.length);
      t.is(summary.headers['x-unreachable-nodes'], 'beta');
    }
    const all = await search(alpha, '');
    t.is(all.headers['x-unreachable-nodes'], undefined);
    t.is(all.json.data.length, 4);
    t.deepEqual(
      all.json.data.filter(({node_id}: {node_id: string}) => node_id === 'beta').map((mail: {from: unknown}) => mail.from),
      [null, null],
    );
    t.is((await search(beta, '')).json.data.length, 4, 'the earlier version reads the records of this one');

    await upgrade(beta);
    await eventually(async () => (await search(alpha, 'from=bank.test')).json.data.length === 3);
    t.deepEqual(
      idsIn(await search(alpha, 'address=ceo@bank.test')),
      [there, before].map(({queue_id}) => queue_id),
    );
  },
);
