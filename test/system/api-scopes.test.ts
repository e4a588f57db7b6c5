// Access scopes of keys. Their permissions are in test/daemon/http/api/endpoints.test.ts, and the full matrix in test/fault/matrix.ts.
import test from 'ava';
import type {MailNode} from '../helpers/mail-node.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

test('a domain-admin key sees and changes its own domain only; another one might as well not exist', async t => {
  const own = await node().createDomain();
  const other = await node().createDomain();
  const {key} = await node().createKey('domain-admin', {domain: own.name});
  const filter = {action: 'block', match: 'sender_domain', pattern: 'spam.test'};
  const foreignFilter = (await node().api('POST', `domains/${other.id}/filters`, {body: filter})).json.data;
  const ownMail = await node().hold({to: `a@${own.name}`});
  const foreignMail = await node().hold({to: `a@${other.name}`});

  t.deepEqual((await node().api('GET', 'domains', {key})).json.data, [own]);
  t.is((await node().api('DELETE', `domains/${own.id}/filters/${foreignFilter.id}`, {key})).status, 404);
  const list = await node().api('GET', 'mail/quarantine', {key});
  t.is(list.headers['x-total-count'], '1');
  t.is(list.json.data[0].queue_id, ownMail.queue_id);
  t.is((await node().api('GET', 'mail/quarantine/summary', {key})).json.data.count, 1);
  const bulk = await node().api('POST', 'mail/quarantine/discard', {key, body: {items: [foreignMail, ownMail]}});
  t.is(bulk.json.data[0].error.code, 'not_found');
  t.is(bulk.json.data[1].state, 'discarded');
  const foreign = `mail/quarantine/${foreignMail.node_id}/${foreignMail.queue_id}`;
  t.is((await node().api('GET', foreign)).status, 200, 'the mail of the other domain is still held');
});

/** Everything that a caller can see of held mail and domains, as the names of the domains that it is about. */
const seenBy = async (key: string): Promise<Record<string, string[]>> => {
  const data = async (path: string) => (await node().api('GET', path, {key})).json.data;
  const list = await node().api('GET', 'mail/quarantine?limit=1000', {key});
  const mails: {recipients: string[]}[] = list.json.data ?? [];
  const groups: {domain: string}[] = (await data('mail/quarantine/summary'))?.groups ?? [];
  const pages = await Promise.all(
    mails.map(async (_, offset) => (await data(`mail/quarantine?limit=1&offset=${offset}`))[0].recipients[0].split('@')[1]),
  );
  const names = {
    domains: ((await data('domains')) ?? []).map(({name}: {name: string}) => name),
    list: mails.map(({recipients}) => recipients[0]?.split('@')[1] ?? ''),
    pages,
    counted: Array.from({length: Number(list.headers['x-total-count'] ?? 0)}, (_, at) => pages[at] ?? 'nobody'),
    summary: groups.map(({domain}) => domain),
  };
  return Object.fromEntries(Object.entries(names).map(([what, found]) => [what, found.toSorted()]));
};

const ofEach = (names: readonly string[]) => {
  const all = names.toSorted();
  return {domains: all, list: all, pages: all, counted: all, summary: all};
};

for (const count of [2, 3, 100])
  test(`a key for ${count} domains sees and changes all of them and nothing else, and none whose name another domain has now`, async t => {
    const own: Awaited<ReturnType<MailNode['createDomain']>>[] = [];
    // Changes of the configuration run one after the other: the last of a hundred at once would wait for too long on a busy machine.
    for (let n = 0; n < count; n += 1) own.push(await node().createDomain());
    const other = await node().createDomain();
    const names = own.map(({name}) => name);
    const {key} = await node().createKey('domain-admin', {domains: names});
    const mails = new Map(
      await Promise.all(
        [...names, other.name].map(
          async name => [name, await node().hold({to: `a@${name}`, subject: 'to one of many'})] as const,
        ),
      ),
    );
    const pathOf = (name: string) => `mail/quarantine/${mails.get(name)?.node_id}/${mails.get(name)?.queue_id}`;
    const statuses = async ({id, name}: {id: number; name: string}) => [
      (await node().api('GET', `domains/${id}`, {key})).status,
      (await node().api('PUT', `domains/${id}`, {key, body: {quarantine_threshold: 5}})).status,
      (await node().api('GET', `domains/${id}/filters`, {key})).status,
      (await node().api('GET', `domains/${id}/dkim-keys`, {key})).status,
      (await node().api('GET', `domains/${id}/dns`, {key})).status,
      (await node().api('PUT', `domains/${id}/retention`, {key, body: {days: 20}})).status,
      (await node().api('GET', `domains/${id}/retention`, {key})).status,
      (await node().api('DELETE', `domains/${id}/retention`, {key})).status,
      (await node().api('GET', `dmarc/summary?domain=${name}`, {key})).status,
      (await node().api('GET', `dmarc/sources?domain=${name}`, {key})).status,
      (await node().api('GET', pathOf(name), {key})).status,
      (await node().api('GET', `${pathOf(name)}/body`, {key})).status,
    ];

    t.deepEqual(await seenBy(key), ofEach(names));
    for (const domain of own.slice(0, 3)) t.deepEqual([...new Set(await statuses(domain))], [200], domain.name);
    t.deepEqual([...new Set(await statuses(other))], [404]);
    for (const path of ['audit', 'auth/api-keys', 'cluster/status', 'filters'])
      t.is((await node().api('GET', path, {key})).status, 403, path);
    t.is((await node().api('POST', 'domains', {key, body: {name: 'more.test', backend_servers: ['x.test:25']}})).status, 403);
    const filtered = await node().api('GET', `mail/quarantine?domain=${names[1]}&subject=one%20of%20many`, {key});
    t.is(filtered.headers['x-total-count'], '1');
    t.is((await node().api('GET', `mail/quarantine?domain=${other.name}`, {key})).headers['x-total-count'], '0');
    t.is((await node().api('GET', 'mail/quarantine?subject=one%20of%20many', {key})).headers['x-total-count'], String(count));

    const [gone, ...left] = own;
    if (!gone) throw new Error('there are at least two');
    await node().api('DELETE', `domains/${gone.id}`);
    const again = await node().createDomain({name: gone.name});
    const laterMail = await node().hold({to: `b@${gone.name}`});

    const kept = left.map(({name}) => name);
    t.deepEqual(await seenBy(key), ofEach(kept), 'the old mail of the name is seen no more than the new one');
    t.deepEqual([...new Set(await statuses(again))], [404]);
    const items = [laterMail, ...[gone.name, other.name, ...kept].flatMap(name => mails.get(name) ?? [])];
    const {data} = (await node().api('POST', 'mail/quarantine/discard', {key, body: {items}})).json;
    t.deepEqual(
      data.map((each: {state?: string; error?: {code: string}}) => each.state ?? each.error?.code),
      ['not_found', 'not_found', 'not_found', ...kept.map(() => 'discarded')],
    );

    for (const {id} of left) await node().api('DELETE', `domains/${id}`, {key});
    const me = (await node().api('GET', 'auth/me', {key})).json.data;
    t.deepEqual(me.permissions, ['me:read'], 'without a domain it may do nothing');
    t.deepEqual(me.domains, names);
    t.is((await node().api('GET', 'mail/quarantine', {key})).status, 403);
    t.is((await node().api('GET', pathOf(other.name))).status, 200, 'the mail of the other domain is still held');
  });
