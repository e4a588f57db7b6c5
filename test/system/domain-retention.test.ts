// Retention of a domain through the API and mfctl, and what becomes of its mail.
import test from 'ava';
import {pathsOf} from '../helpers/api-call.ts';
import {eventually} from '../helpers/eventually.ts';
import {addToConfig} from '../helpers/node.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode({config: {retention: {days: 20, by_reason: {sandbox: 40}, sweep_interval: 0.5, max_days: 45}}});

const ofNode = {spam: 20, phishing: 20, sandbox: 40, rbl: 20};

test('a retention says what is set and what counts, is changed in parts, and goes back to that of the node', async t => {
  const {id, name} = await node().createDomain();
  const ask = async (method: string, body?: object) => (await node().api(method, `domains/${id}/retention`, {body})).json.data;
  const none = {domain: name, days: null, by_reason: {}, in_effect: ofNode, of_node: ofNode, node_id: node().node_id};

  t.deepEqual(await ask('GET'), none);
  t.deepEqual(await ask('PUT', {by_reason: {phishing: 60}}), {
    ...none,
    by_reason: {phishing: 60},
    in_effect: {...ofNode, phishing: 60},
  });
  t.deepEqual(await ask('PUT', {days: 14, by_reason: {rbl: 0.5}}), {
    ...none,
    days: 14,
    by_reason: {phishing: 60, rbl: 0.5},
    in_effect: {spam: 14, phishing: 60, sandbox: 14, rbl: 0.5},
  });
  t.like(await ask('PUT', {by_reason: {phishing: null}}), {days: 14, by_reason: {rbl: 0.5}});
  t.like(await ask('PUT', {days: null}), {days: null, in_effect: {...ofNode, rbl: 0.5}});
  t.deepEqual(await ask('PUT', {by_reason: {rbl: null}}), none);
  await ask('PUT', {days: 1});
  t.deepEqual(await ask('DELETE'), none);
  t.deepEqual(await ask('DELETE'), none);
});

test('the domain has its retention as a member, in every list, and without one it has no such member', async t => {
  const {id, name} = await node().createDomain({retention: {days: 3, by_reason: {}}});
  const domain = async () => (await node().api('GET', `domains/${id}`)).json.data;
  const put = async (retention: unknown) => (await node().api('PUT', `domains/${id}`, {body: {retention}})).status;

  t.deepEqual((await domain()).retention, {days: 3, by_reason: {}});
  t.is(await put({by_reason: {spam: 5}}), 200);
  const listed = (await node().api('GET', 'domains')).json.data.find((one: {name: string}) => one.name === name);
  t.deepEqual(listed.retention, {days: 3, by_reason: {spam: 5}});
  const before = await domain();
  t.is((await node().api('PUT', `domains/${id}`, {body: before})).json.data.updated_at, before.updated_at);
  t.is(await put(null), 200);
  const {retention, ...rest} = await domain();
  t.is(retention, undefined);
  t.is((await node().api('PUT', `domains/${id}`, {body: rest})).json.data.updated_at, rest.updated_at);
  t.is(await put({days: null, by_reason: {}}), 200);
  t.false(Object.hasOwn(await domain(), 'retention'));
  for (const empty of [null, {}]) {
    const made = await node().createDomain({retention: empty as null});
    t.false(Object.hasOwn((await node().api('GET', `domains/${made.id}`)).json.data, 'retention'));
  }
});

test('days have the bounds of those in mfd.yaml, and wrong ones change nothing', async t => {
  const {id} = await node().createDomain({retention: {days: 3, by_reason: {}}});
  const refused: [object, string[]][] = [
    [{days: 0}, ['days']],
    [{days: -1}, ['days']],
    [{days: 36_501}, ['days']],
    [{days: '14'}, ['days']],
    [{by_reason: {spam: 0, virus: 3}}, ['by_reason.spam', 'by_reason.virus']],
    [{hours: 3}, ['hours']],
  ];

  for (const [body, paths] of refused) {
    const answer = await node().api('PUT', `domains/${id}/retention`, {body});
    t.deepEqual([answer.status, pathsOf(answer)], [422, paths], JSON.stringify(body));
    const whole = await node().api('PUT', `domains/${id}`, {body: {retention: body}});
    t.is(whole.status, 422, JSON.stringify(body));
  }

  t.is((await node().api('PUT', `domains/${id}/retention`, {body: {days: 36_500}})).status, 200);
  t.is((await node().api('PUT', `domains/${id}/retention`, {body: {days: 0.5}})).status, 200);
});

test('who may change a domain may change its retention, and nobody else', async t => {
  const own = await node().createDomain();
  const other = await node().createDomain();
  const keys = {
    domain: (await node().createKey('domain-admin', {domain: own.name})).key,
    read: (await node().createKey('read-only')).key,
    quarantine: (await node().createKey('quarantine-only')).key,
  };
  const statuses = async (key: string, id: number) => {
    const path = `domains/${id}/retention`;
    const answers = [await node().api('GET', path, {key}), await node().api('PUT', path, {key, body: {days: 9}})];
    return [...answers, await node().api('DELETE', path, {key})].map(({status}) => status);
  };

  t.deepEqual(await statuses(keys.domain, own.id), [200, 200, 200]);
  t.deepEqual(await statuses(keys.domain, other.id), [404, 404, 404]);
  t.deepEqual(await statuses(keys.read, own.id), [200, 403, 403]);
  t.deepEqual(await statuses(keys.quarantine, own.id), [403, 403, 403]);
  t.is((await node().api('GET', `domains/${other.id}`)).json.data.retention, undefined);
});

test('a domain-admin key sets at most retention.max_days, of which more is allowed from the next SIGHUP on', async t => {
  const {id, name} = await node().createDomain();
  const {key} = await node().createKey('domain-admin', {domain: name});
  const retention = async (body: object, by: {key?: string} = {key}) =>
    node().api('PUT', `domains/${id}/retention`, {...by, body});
  const whole = async (body: object) => node().api('PUT', `domains/${id}`, {key, body: {retention: body}});

  t.is((await retention({days: 45, by_reason: {rbl: 45}})).status, 200);
  const above = await retention({days: 45.5, by_reason: {phishing: 46, spam: 3}});
  t.deepEqual([above.status, pathsOf(above)], [422, ['by_reason.phishing', 'days']]);
  t.regex(above.json.error.detail, /^days must be at most 45: .* retention\.max_days; ask an administrator/);
  const inDomain = await whole({days: 46});
  t.deepEqual([inDomain.status, pathsOf(inDomain)], [422, ['retention.days']]);
  t.is((await retention({days: 46}, {})).status, 200, 'another key');
  t.is((await whole({days: 46, by_reason: {rbl: 1}})).status, 200, 'what is set already');

  const before = node().log().length;
  await addToConfig(node().data, {retention: {max_days: 50}});
  node().signal('SIGHUP');
  await eventually(() => /configuration and certificates reread/.test(node().log().slice(before)));

  t.is((await retention({days: 50})).status, 200);
  t.is((await retention({days: 51})).status, 422);
});

test('the audit log says who changed how long mail is held, and to what', async t => {
  const {id, name} = await node().createDomain();
  for (const body of [{days: 14, by_reason: {phishing: 60}}, {days: 14}, {days: 7}])
    await node().api('PUT', `domains/${id}/retention`, {body});
  await node().api('DELETE', `domains/${id}/retention`);
  await node().api('PUT', `domains/${id}`, {body: {retention: {days: 2}, dkim_active: true}});
  const made = [await node().createDomain({retention: {days: 3, by_reason: {rbl: 1}}}), await node().createDomain()];

  const {data} = (await node().api('GET', `audit?target=${name}&action=domain.update`)).json;

  t.deepEqual(
    data.map(({detail, result}: {detail: string; result: string}) => [detail, result]),
    [
      ['dkim_active retention=2', 'ok'],
      ['retention=none', 'ok'],
      ['retention=7,phishing:60', 'ok'],
      ['retention=14,phishing:60', 'ok'],
    ],
  );
  const details = made.map(async one => (await node().api('GET', `audit?target=${one.name}`)).json.data[0].detail);
  t.deepEqual(await Promise.all(details), ['retention=3,rbl:1', '']);
});

test('mail that is held already goes at the next sweep, when its domain says so, and no mail of another domain', async t => {
  const short = await node().createDomain({retention: {days: 0.000_01, by_reason: {}}});
  const later = await node().createDomain();
  const kept = await node().createDomain();
  for (const {name} of [short, later, kept]) await node().hold({to: `a@${name}`});
  const held = async (domain: {name: string}) =>
    (await node().api('GET', `mail/quarantine?domain=${domain.name}`)).headers['x-total-count'];

  await eventually(async () => (await held(short)) === '0');
  t.deepEqual([await held(later), await held(kept)], ['1', '1']);
  await node().api('PUT', `domains/${later.id}/retention`, {body: {days: 0.000_01}});
  await eventually(async () => (await held(later)) === '0');

  t.is(await held(kept), '1');
});

test('mfctl sets, shows and removes a retention, and the export makes another domain the same', async t => {
  const {name} = await node().createDomain();
  const run = async (...args: string[]) => node().mfctl(['domain', ...args]);
  const lines = async (...args: string[]) => (await run(...args)).stdout.replaceAll(/ +/g, ' ').trim().split('\n');

  t.deepEqual(await lines('retention', name, '--days', '14', '--reason', 'phishing=60', '--reason', 'rbl=1', '--yes'), [
    `Domain: ${name}`,
    'Spam: 14 days',
    'Phishing: 60 days',
    'Sandbox: 14 days',
    'RBL: 1 day',
  ]);
  t.true((await lines('show', name)).includes('Days held: 14, phishing 60, rbl 1'));
  t.regex((await run('list', '-o', 'wide')).stdout, /DAYS HELD.*\n(.*\n)*.*14, phishing 60, rbl 1/);
  const exported = (await run('export', name)).stdout;
  t.true((await lines('retention', name, '--reason', 'phishing=default', '--yes')).includes('Phishing: 14 days'));
  t.deepEqual(await lines('retention', name, '--default', '--yes'), [
    `Domain: ${name}`,
    ...['Spam: 20', 'Phishing: 20', 'Sandbox: 40', 'RBL: 20'].map(text => `${text} days, by mfd.yaml of ${node().node_id}`),
  ]);

  const apply = async (input: string) => node().mfctl(['domain', 'apply', '-f', '-', '--yes'], {input});
  t.regex((await apply(exported)).stdout, /retention: none -> 14, phishing 60, rbl 1/);
  t.regex((await apply(exported)).stderr, /no changes/);
  const fewer = exported.replace(/ +phishing: 60\n/, '');
  t.regex((await apply(fewer)).stdout, /retention: 14, phishing 60, rbl 1 -> 14, rbl 1/);
  t.regex((await apply(fewer)).stderr, /no changes/);
  const none = exported.replace(/ +retention:\n( {6}.*\n)+/, '    retention: null\n');
  t.regex((await apply(none)).stdout, /retention: 14, rbl 1 -> none/);
  t.regex((await apply(none)).stderr, /no changes/);
});

test('mfctl asks before mail of a domain is held for fewer days, and says how many mails that deletes', async t => {
  const {id, name} = await node().createDomain();
  const retention = async (...args: string[]) => node().mfctl(['domain', 'retention', name, ...args]);
  const set = async () => (await node().api('GET', `domains/${id}`)).json.data.retention?.days;
  await node().hold({to: `a@${name}`});

  const few = await retention('--days', '3');
  t.deepEqual([few.code, await set()], [2, undefined]);
  t.regex(few.stderr, /fewer days \(spam 20 → 3, .*\)\? No held mail is older/);
  const none = await retention('--days', '0.0000001');
  t.deepEqual([none.code, await set()], [2, undefined]);
  t.regex(none.stderr, /1 held mail that is older than that is deleted for good/);
  t.deepEqual([(await retention('--days', '90')).code, await set()], [0, 90]);
  t.deepEqual([(await retention('--days', '80', '--yes')).code, await set()], [0, 80]);
});

test('mfctl says before a domain is deleted which of its held mail goes with its days', async t => {
  const {name} = await node().createDomain({retention: {days: 90, by_reason: {}}});
  await node().hold({to: `a@${name}`});

  const {code, stderr} = await node().mfctl(['domain', 'delete', name]);

  t.is(code, 2);
  t.regex(
    stderr,
    /Held mail: 1\. .*\(spam 90 → 20, phishing 90 → 20, sandbox 90 → 40, rbl 90 → 20 by mfd\.yaml of .*\)\. Held mail that is older/,
  );
});

test('mfctl tells which option of a retention is wrong', async t => {
  const {name} = await node().createDomain();
  const refused: [string[], RegExp][] = [
    [['--days', '0'], /--days must be above 0/],
    [['--days', '36501'], /--days must be at most 36500/],
    [['--reason', 'spam=0'], /--reason must be above 0/],
    [['--reason', 'virus=3'], /--reason virus=3 must be one of spam, phishing, sandbox, rbl/],
    [['--reason', 'spam'], /--reason spam must be one of/],
    [['--reason', 'spam=1', '--reason', 'spam=2'], /spam is given twice/],
    [['--days', '1', '--days', '2'], /is given 2 times/],
    [['--days', '1', '--default'], /cannot be used with/],
  ];

  for (const [args, message] of refused) {
    const {code, stderr} = await node().mfctl(['domain', 'retention', name, ...args]);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, message);
  }
  t.is((await node().mfctl(['domain', 'retention', 'nobody.test'])).code, 5);
});
