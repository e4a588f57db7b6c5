import {testStores} from '../../helpers/store-makes.ts';

const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, '0')}:00:00.000Z`;
const token = {id: 'token1', created_at: at(1), expires_at: at(10), used_at: null};

testStores('a join token is used once, however many ask, and not after it has expired', async (t, {store}) => {
  await store.transaction(async tx => {
    for (const id of ['token1', 'token2']) await tx.trust.insertJoinToken({...token, id});
  });
  const use = async (id: string, hour: number) => store.transaction(async tx => tx.trust.useJoinToken(id, at(hour)));

  const uses = await Promise.all(Array.from({length: 6}, async () => use('token1', 2)));

  t.is(uses.filter(isUsed => isUsed).length, 1);
  t.deepEqual([await use('token2', 10), await use('token3', 2)], [false, false]);
  t.deepEqual(await store.trust.findJoinToken('token1'), {...token, used_at: at(2)});
  t.deepEqual(await store.trust.findJoinToken('token2'), {...token, id: 'token2'});
});

testStores('tokens are forgotten some time after they expired', async (t, {store}) => {
  await store.transaction(async tx => {
    await tx.trust.insertJoinToken(token);
    await tx.trust.insertJoinToken({...token, id: 'token2', expires_at: at(12)});
    await tx.trust.forgetJoinTokens(at(11));
  });

  t.is(await store.trust.findJoinToken('token1'), undefined);
  t.is((await store.trust.findJoinToken('token2'))?.id, 'token2');
});

testStores('the names of a node are those of its certificates until a new one replaces them', async (t, {store}) => {
  await store.transaction(async tx => {
    const names = [
      {node_no: 2, host: 'beta.test'},
      {node_no: 1, host: 'alpha.test'},
    ];
    await tx.trust.addIssuedNames([...names, {node_no: 2, host: 'also.test'}]);
    await tx.trust.addIssuedNames(names);
    await tx.trust.replaceIssuedNames(2, ['192.0.2.2']);
  });

  t.deepEqual(await store.trust.listIssuedNames(), [
    {node_no: 1, host: 'alpha.test'},
    {node_no: 2, host: '192.0.2.2'},
  ]);
});

testStores('the last report of each peer is kept as it came, of those that are still there', async (t, open) => {
  const report = {health: 'online', names: ['ünïcode'], depth: {of: [1, null, true]}};
  await open.store.transaction(async tx => {
    await tx.trust.savePeerReports([1, 2, 3].map(node_no => ({node_no, last_seen: at(1), report: {}})));
    await tx.trust.savePeerReports([{node_no: 2, last_seen: at(2), report}]);
    await tx.trust.keepPeerReports([1, 2]);
  });

  const {store} = await open.reopen();

  t.deepEqual(
    (await store.trust.listPeerReports()).toSorted((a, b) => a.node_no - b.node_no),
    [
      {node_no: 1, last_seen: at(1), report: {}},
      {node_no: 2, last_seen: at(2), report},
    ],
  );
});

testStores('the latest use of a key counts, in whatever order uses are told', async (t, {store}) => {
  const uses = (...hours: [key_id: number, hour: number][]) => hours.map(([key_id, hour]) => ({key_id, last_used_at: at(hour)}));

  for (const told of [uses([7, 5], [8, 1]), uses([7, 3], [8, 4]), []])
    await store.transaction(async tx => tx.keyUses.record(told));

  t.deepEqual(
    (await store.keyUses.list()).toSorted((a, b) => a.key_id - b.key_id),
    uses([7, 5], [8, 4]),
  );
});

testStores('state is what was written last under its name', async (t, open) => {
  await open.store.transaction(async tx => {
    await tx.state.write('a', '1');
    await tx.state.write('a', 'ünïcode\n');
    t.is(await tx.state.read('a'), 'ünïcode\n');
  });

  const {store} = await open.reopen();

  t.is(await store.state.read('a'), 'ünïcode\n');
  t.is(await store.state.read('b'), undefined);
});
