import test, {type ExecutionContext} from 'ava';
import {askToDelete, openNewDomain} from '../../../../../cli/dashboard/screens/domains/domain-actions.ts';
import {settingFaults} from '../../../../../cli/dashboard/screens/domains/domain-settings.ts';
import {editDomain, setActive} from '../../../../../cli/dashboard/screens/domains/edit-domain.ts';
import {askToRemoveFilter, openNewDkimKey, openNewFilter} from '../../../../../cli/dashboard/screens/domains/part-actions.ts';
import {domainFields} from '../../../../../cli/domain/domain-fields.ts';
import {filterList} from '../../../../../cli/filter/filter-list.ts';
import type {Me} from '../../../../../shared/api-key.ts';
import type {Domain} from '../../../../../shared/domain.ts';
import {mergePatch} from '../../../../../shared/merge-patch.ts';
import {permissions} from '../../../../../shared/scopes.ts';
import {dkimKey, globalFilter} from '../../../../helpers/cli/sample-answers.ts';
import {clusterStatus, domain, key, peer} from '../../../../helpers/cli/sample-records.ts';
import {type Received, type Reply, startApi} from '../../../../helpers/cli/scripted-api.ts';
import {clientOf, createFakeShell} from '../../../../helpers/dashboard/fake-shell.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const path = `/domains/${domain.id}`;

/** One domain that changes under an ETag, as in the API. */
const startDomain = async (t: ExecutionContext, answers: Record<string, Reply | ((request: Received) => Reply)> = {}) => {
  let present: Domain = domain;
  let version = 1;
  const etag = () => `"${version}"`;
  const change = (changes: Partial<Domain>): void => {
    present = {...present, ...changes};
    version += 1;
  };
  const api = await startApi(t, {
    [`GET ${path}`]: () => ({data: present, headers: {etag: etag()}}),
    [`GET ${path}/dkim-keys`]: {data: []},
    [`GET ${path}/filters`]: {data: [{id: 1}, {id: 2}]},
    [`PUT ${path}`]: ({headers, body}) => {
      if (headers['if-match'] !== etag())
        return {status: 412, error: {code: 'precondition_failed', detail: 'the domain has changed since it was read'}};
      change(mergePatch(present as never, JSON.parse(body)) as Partial<Domain>);
      return {data: present, headers: {etag: etag()}};
    },
    ...answers,
  });
  const shell = createFakeShell();
  const client = await clientOf(api);
  const puts = () => api.requests.filter(({method}) => method === 'PUT').map(({body}) => JSON.parse(body));
  const me: Me = {...key, scope: 'full-admin', node_id: 'mx1', permissions: [...permissions]};
  return {
    shell,
    client,
    change,
    puts,
    api,
    present: () => present,
    edits: {client, shell, onSaved: () => undefined},
    needs: {app: {client, me, may: () => true}, shell, onChange: () => undefined, onCreated: () => undefined},
  };
};

test('only what was changed is sent, after it was shown as a difference', async t => {
  const {shell, edits, puts} = await startDomain(t);
  await editDomain(edits, domain.id);

  shell.fill(await shell.form(), {quarantine_threshold: '4'});
  const question = await shell.question();
  t.deepEqual(puts(), []);
  question.onYes();

  await eventually(() => shell.said.length > 0);
  t.deepEqual(question.lines, ['Change example.com?', '  quarantine_threshold  6 → 4']);
  t.deepEqual(puts(), [{quarantine_threshold: 4}]);
  t.deepEqual(shell.said, ['Saved example.com: quarantine_threshold 6 → 4']);
});

test('a retention is typed as one line, what the line leaves out goes, and an empty line is that of the node', async t => {
  const inEffect = {spam: 30, phishing: 30, sandbox: 30, rbl: 14};
  const {shell, edits, puts} = await startDomain(t, {
    [`GET ${path}/retention`]: {
      data: {domain: domain.name, days: null, by_reason: {}, in_effect: inEffect, of_node: inEffect, node_id: 'mx1'},
    },
    'GET /mail/quarantine/summary': {data: {count: 2, groups: [{reason: 'spam', count: 2}]}},
  });
  const reasons = {spam: null, phishing: null, sandbox: null, rbl: null};
  const save = async (retention: string) => {
    await editDomain(edits, domain.id);
    shell.fill(await shell.form(), {retention});
    const question = await shell.question();
    const said = shell.said.length;
    question.onYes();
    await eventually(() => shell.said.length > said);
    return question.lines;
  };

  t.deepEqual(await save('14, phishing 60'), [
    'Change example.com?',
    '  retention  none → 14, phishing 60',
    'Mail of example.com is held for fewer days then (spam 30 → 14, sandbox 30 → 14). 2 held mails that are older than that are deleted for good within minutes.',
  ]);

  t.deepEqual(puts(), [{retention: {days: 14, by_reason: {...reasons, phishing: 60}}}]);
  t.is((await save('14'))[1], '  retention  14, phishing 60 → 14');
  t.deepEqual(puts().at(-1), {retention: {days: 14, by_reason: reasons}});
  t.is((await save('phishing 60'))[1], '  retention  14 → phishing 60');
  t.deepEqual(puts().at(-1), {retention: {days: null, by_reason: {...reasons, phishing: 60}}});
  for (const [typed, meant] of [
    ['', null],
    ['14', {days: 14, by_reason: {}}],
    ['rbl=0.5', {days: null, by_reason: {rbl: 0.5}}],
    ['a week', {days: null, by_reason: {a: 'week'}}],
    ['1, 2', {days: '1, 2', by_reason: {}}],
  ] as const)
    t.deepEqual(domainFields.retention.parse(typed, 0), meant);
});

test('escape asks before it forgets what was typed, and a no brings it back with the cursor where it was', async t => {
  const {shell, edits, needs} = await startDomain(t);
  const place = {field: 4, cursors: {quarantine_threshold: 1}};
  for (const open of [() => editDomain(edits, domain.id), () => openNewDomain(needs)]) {
    await open();
    const form = await shell.form();
    const unchanged = Object.fromEntries(form.fields.map(({name, value}) => [name, value]));
    form.onGiveUp?.(unchanged, place);
    t.false(shell.isAnythingOpen());

    form.onGiveUp?.({...unchanged, quarantine_threshold: '42'}, place);
    const question = await shell.question();
    t.true(question.lines.some(line => line.endsWith(': 42')));
    question.onNo?.();
    const again = await shell.form();
    t.deepEqual([again.place, again.fields.find(({name}) => name === 'quarantine_threshold')?.value], [place, '42']);
    again.onGiveUp?.({...unchanged, quarantine_threshold: '42'}, place);
    (await shell.question()).onYes();
    t.false(shell.isAnythingOpen());
  }
});

test('thresholds in the wrong order are told of the one that was changed, where the cursor stays, by the labels of the form', async t => {
  const {shell, edits, needs} = await startDomain(t);
  for (const open of [() => editDomain(edits, domain.id), () => openNewDomain(needs)]) {
    await open();
    const form = await shell.form();
    const values = Object.fromEntries(form.fields.map(({name, value}) => [name, value]));
    const faults = (typed: Record<string, string>) =>
      form.check?.({...values, name: 'a.example', backend_servers: 'mx.example.com:25', ...typed});

    t.deepEqual(faults({reject_threshold: '3'}), {reject_threshold: 'Quarantine at must not be above Reject at (3)'});
    t.deepEqual(faults({quarantine_threshold: '16'}), {quarantine_threshold: 'must not be above Reject at (15)'});
    t.deepEqual(faults({quarantine_threshold: '5', reject_threshold: '3'}), {
      quarantine_threshold: 'must not be above Reject at (3)',
    });
  }
});

test('a message belongs to its own field, whatever names of fields are in its text', t => {
  const before = {name: 'a.example', reject_threshold: '15'};
  const faults = [{path: 'name', detail: 'has reject_threshold in it'}];

  t.deepEqual(settingFaults(faults, {before, typed: {name: 'a.example', reject_threshold: '16'}}), {
    name: 'has reject_threshold in it',
  });
});

test('back to the form is back to the field where one was', async t => {
  const {shell, edits, needs} = await startDomain(t);
  const place = {field: 3, cursors: {}};
  for (const open of [() => editDomain(edits, domain.id), () => openNewDomain(needs)]) {
    await open();
    const form = await shell.form();
    const values = Object.fromEntries(form.fields.map(({name, value}) => [name, value]));
    form.onSubmit({...values, quarantine_threshold: '4'}, place);
    (await shell.question()).onNo?.();
    t.deepEqual((await shell.form()).place, place);
  }
});

test('a name that DNS writes in another way is shown so before the domain is made', async t => {
  const {shell, needs} = await startDomain(t);
  const asked = async (name: string): Promise<readonly string[]> => {
    await openNewDomain(needs);
    shell.fill(await shell.form(), {name, backend_servers: 'mx.example.com:25'});
    return (await shell.question()).lines.slice(0, 2);
  };

  t.deepEqual(await asked(' b\u00fccher.example '), [
    'Create the domain xn--bcher-kva.example?',
    '! b\u00fccher.example is written xn--bcher-kva.example in DNS: that is the domain that is made.',
  ]);
  const [first, second] = await asked('Example.ORG');
  t.is(first, 'Create the domain example.org?');
  t.false(second?.startsWith('!'));
});

test('a form in which nothing was changed saves nothing', async t => {
  const {shell, edits, puts} = await startDomain(t);
  await editDomain(edits, domain.id);

  shell.fill(await shell.form(), {quarantine_threshold: '6.0'});

  await eventually(() => shell.said.length > 0);
  t.regex(shell.said[0] ?? '', /nothing was changed/);
  t.deepEqual(puts(), []);
});

test('the second of two editors sees what the other has changed, and no change of either is lost', async t => {
  const {shell, edits, change, present} = await startDomain(t);
  await editDomain(edits, domain.id);
  const form = await shell.form();
  change({reject_threshold: 20, direction: 'both'});

  shell.fill(form, {quarantine_threshold: '4', reject_threshold: '12'});
  (await shell.question()).onYes();

  const told = await shell.question();
  t.is(present().reject_threshold, 20);
  t.deepEqual(told.lines.slice(1, 8), [
    'They changed:',
    '  direction         inbound → both',
    '  reject_threshold  15 → 20',
    'Yours would change:',
    '  quarantine_threshold  6 → 4',
    '  reject_threshold      20 → 12',
    'Some of it is the same setting: check carefully.',
  ]);
  told.onYes();
  const again = await shell.form();
  t.is(again.fields.find(({name}) => name === 'direction')?.value, 'both');
  t.is(again.fields.find(({name}) => name === 'reject_threshold')?.value, '12');
  shell.fill(again, {reject_threshold: '18'});
  (await shell.question()).onYes();
  await eventually(() => shell.said.length > 0);
  t.like(present(), {quarantine_threshold: 4, reject_threshold: 18, direction: 'both'});
});

test('when the other has changed it to the same, there is nothing left to ask', async t => {
  const {shell, edits, change, puts} = await startDomain(t);
  await editDomain(edits, domain.id);
  const form = await shell.form();
  change({quarantine_threshold: 4});

  shell.fill(form, {quarantine_threshold: '4'});
  (await shell.question()).onYes();

  await eventually(() => shell.said.length > 0);
  t.regex(shell.said[0] ?? '', /Somebody else has changed example\.com to just this/);
  t.is(puts().length, 1);
});

test('what the node does not take is said by field, and the form comes again with what was typed', async t => {
  const fields = [{path: 'backend_servers.0', detail: 'is one of us'}];
  const {shell, edits} = await startDomain(t, {
    [`PUT ${path}`]: {status: 422, error: {code: 'validation_failed', detail: 'wrong', fields}},
  });
  await editDomain(edits, domain.id);
  shell.fill(await shell.form(), {backend_servers: 'mx.example.com:25'});
  (await shell.question()).onYes();

  const again = await shell.form();

  t.is(again.fields.find(({name}) => name === 'backend_servers')?.value, 'mx.example.com:25');
  t.deepEqual(again.errors, {backend_servers: 'is one of us'});
  t.deepEqual(
    shell.failures.map(({detail}) => detail),
    ['backend_servers.0 is one of us'],
  );
});

test('a key without the permission gets an error, and not the form again', async t => {
  const {shell, edits} = await startDomain(t, {
    [`PUT ${path}`]: {status: 403, error: {code: 'insufficient_scope', detail: 'the scope read-only does not permit this'}},
  });
  await editDomain(edits, domain.id);
  shell.fill(await shell.form(), {quarantine_threshold: '4'});
  (await shell.question()).onYes();

  await eventually(() => shell.failures.length > 0);

  t.is(shell.failures[0]?.code, 'insufficient_scope');
  t.false(shell.isAnythingOpen());
});

test('an answer that does not come leaves what was typed in the form', async t => {
  const {shell, edits} = await startDomain(t, {[`PUT ${path}`]: {stream: response => void response.destroy()}});
  await editDomain(edits, domain.id);
  shell.fill(await shell.form(), {quarantine_threshold: '4'});
  (await shell.question()).onYes();

  const again = await shell.form();

  t.is(again.fields.find(({name}) => name === 'quarantine_threshold')?.value, '4');
  t.is(shell.failures[0]?.code, 'unreachable');
});

test('a no leads back to the form with what was typed', async t => {
  const {shell, edits, puts} = await startDomain(t);
  await editDomain(edits, domain.id);
  shell.fill(await shell.form(), {tenant_id: 'bakers'});

  (await shell.question()).onNo?.();

  t.is((await shell.form()).fields.find(({name}) => name === 'tenant_id')?.value, 'bakers');
  t.deepEqual(puts(), []);
});

test('DKIM without a key, and no mail any more, are warned of before they are saved', async t => {
  const {shell, edits} = await startDomain(t);
  await editDomain(edits, domain.id);
  shell.fill(await shell.form(), {dkim_active: 'yes'});

  t.regex((await shell.question()).lines.join('\n'), /no DKIM key of example\.com: its mail leaves unsigned/);
  await setActive(edits, domain.id, false);
  t.regex((await shell.question()).lines.join('\n'), /active {2}yes → no\n.*answered 450/);
});

test('a deletion names what goes with it and what stays, and is put off so that it can be taken back', async t => {
  const {shell, needs, api} = await startDomain(t, {
    'GET /mail/quarantine/summary': {
      data: {count: 12, size_bytes: 1, oldest_arrived_at: null, groups: []},
      headers: {'x-unreachable-nodes': 'mx2'},
    },
    [`DELETE ${path}`]: {data: null},
  });

  await askToDelete(needs, domain.id);
  const question = await shell.question();
  question.onYes();

  const text = question.lines.join('\n');
  t.regex(text, /Delete example\.com\?/);
  t.regex(text, /2 mail filters and no DKIM keys/);
  t.regex(text, /Held mail: 12 \(without mx2, not answering\)\. It stays/);
  t.false(api.requests.some(({method}) => method === 'DELETE'));
  t.is(await shell.deferred[0]?.run(() => undefined), 'Deleted example.com');
  t.is(api.requests.find(({method}) => method === 'DELETE')?.headers['if-match'], '"1"');
});

test('a deletion tells which held mail goes with the days of the domain', async t => {
  const inEffect = {spam: 90, phishing: 90, sandbox: 90, rbl: 90};
  const ofNode = {spam: 30, phishing: 30, sandbox: 30, rbl: 30};
  const {shell, needs, change} = await startDomain(t, {
    'GET /mail/quarantine/summary': {
      data: {count: 12, size_bytes: 1, oldest_arrived_at: null, groups: [{reason: 'spam', count: 2}]},
    },
    [`GET ${path}/retention`]: {
      data: {domain: domain.name, days: 90, by_reason: {}, in_effect: inEffect, of_node: ofNode, node_id: 'mx1'},
    },
  });
  change({retention: {days: 90, by_reason: {}}});

  await askToDelete(needs, domain.id);

  const text = (await shell.question()).lines.join('\n');
  t.regex(
    text,
    /Held mail: 12\. It is held for fewer days then \(spam 90 → 30, phishing 90 → 30, sandbox 90 → 30, rbl 90 → 30 by mfd\.yaml of mx1\)/,
  );
  t.regex(text, /2 held mails that are older than that are deleted for good within minutes\. The rest stays/);
});

test('the question says what the key in use loses with the domain', async t => {
  const {shell, needs} = await startDomain(t, {
    'GET /mail/quarantine/summary': {data: {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []}},
  });
  const lossOf = async (domains: string[]) => {
    const me = {...needs.app.me, scope: 'domain-admin' as const, domains};
    await askToDelete({...needs, app: {...needs.app, me}}, domain.id);
    return (await shell.question()).lines.join('\n');
  };

  t.regex(await lossOf([domain.name]), /is bound to example\.com: it can do nothing afterwards/);
  t.regex(await lossOf(['other.test', domain.name]), /is bound to example\.com: it has no access to it afterwards/);
  t.notRegex(await lossOf(['other.test']), /is bound to/);
});

test('a domain that was changed after the question is not deleted', async t => {
  const {shell, needs} = await startDomain(t, {
    'GET /mail/quarantine/summary': {data: {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []}},
    [`DELETE ${path}`]: {status: 412, error: {code: 'precondition_failed', detail: 'changed'}},
  });
  await askToDelete(needs, domain.id);
  (await shell.question()).onYes();

  const failure = await t.throwsAsync(async () => shell.deferred[0]?.run(() => undefined));

  t.regex(failure?.message ?? '', /still there: somebody has changed it/);
});

test('a name that is taken leaves the form with all that was typed', async t => {
  const {shell, needs} = await startDomain(t, {
    'POST /domains': {status: 409, error: {code: 'conflict', detail: 'taken', fields: [{path: 'name', detail: 'is taken'}]}},
  });
  await openNewDomain(needs);
  shell.fill(await shell.form(), {name: 'example.com', backend_servers: 'mx.example.com:25'});
  (await shell.question()).onYes();

  const again = await shell.form();

  t.like(Object.fromEntries(again.fields.map(({name, value}) => [name, value])), {
    name: 'example.com',
    backend_servers: 'mx.example.com:25',
  });
  t.is(shell.failures[0]?.detail, 'name is taken');
  t.deepEqual(again.errors, {name: 'is taken'});
});

test('a domain is made after a question that names all of its settings; a no goes back to the form, with all that was typed', async t => {
  const {shell, needs, api} = await startDomain(t, {
    'POST /domains': ({body}) => ({status: 201, data: {...domain, ...JSON.parse(body)}}),
  });
  const posted = () => api.requests.filter(({method}) => method === 'POST').map(({body}) => JSON.parse(body));
  await openNewDomain(needs);
  shell.fill(await shell.form(), {name: 'new.example', backend_servers: 'a.example:25, b.example:25', reject_threshold: '20'});

  const question = await shell.question();
  question.onNo?.();
  const again = await shell.form();
  shell.fill(again, {});
  (await shell.question()).onYes();
  await eventually(() => shell.said.length > 0);

  t.deepEqual(question.lines, [
    'Create the domain new.example?',
    '  direction             inbound',
    '  active                yes',
    '  backend_servers       a.example:25, b.example:25',
    '  quarantine_threshold  6',
    '  reject_threshold      20',
    '  dkim_active           no',
    '  dmarc_reporting       no',
    '  tenant_id             none',
    '  retention             none',
  ]);
  t.deepEqual(posted(), [{name: 'new.example', backend_servers: ['a.example:25', 'b.example:25'], reject_threshold: 20}]);
});

test('a domain that was made with a dead backend is told with it, as in the shell', async t => {
  const steps = [
    {part: 'backend', name: 'a.example:25', step: 'connection', state: 'failed', detail: 'nothing listens there'},
    {part: 'backend', name: 'b.example:25', step: 'connection', state: 'ok', detail: ''},
  ];
  const {shell, needs, api} = await startDomain(t, {
    'POST /domains': ({body}) => ({status: 201, data: {...domain, ...JSON.parse(body)}}),
    [`GET ${path}/test`]: {data: {domain: domain.name, node_id: 'mx1', works: false, steps}},
  });
  await openNewDomain(needs);
  shell.fill(await shell.form(), {name: 'new.example', backend_servers: 'a.example:25, b.example:25'});
  (await shell.question()).onYes();
  await eventually(() => shell.said.length > 0);

  t.deepEqual(shell.said, ['Created new.example; backend a.example:25 cannot be reached: nothing listens there']);
  t.is(api.requests.find(({path: asked}) => asked === `${path}/test`)?.query.get('only'), 'connection');
});

test('a filter is sent with what belongs to it and null for the rest', async t => {
  const {shell, needs, client, api} = await startDomain(t, {
    [`POST ${path}/filters`]: ({body}) => ({status: 201, data: JSON.parse(body)}),
  });
  await openNewFilter(needs, {name: domain.name, filters: filterList(client, domain.id)});
  const form = await shell.form();

  t.throws(() => shell.fill(form, {action: 'score', pattern: 'x'}), {message: /is required with action score/});
  t.throws(() => shell.fill(form, {match: 'header', pattern: 'x'}), {message: /is required with match header/});
  shell.fill(form, {action: 'score', score: '-3', match: 'subject', pattern: ' *news* '});
  (await shell.question()).onYes();

  await eventually(() => shell.said.length > 0);
  t.deepEqual(JSON.parse(api.requests.at(-1)?.body ?? ''), {
    action: 'score',
    match: 'subject',
    pattern: '*news*',
    score: -3,
    header: null,
    comment: null,
    authenticated: true,
  });
});

test('a filter for all domains is added and removed there, and no domain is asked', async t => {
  const {shell, needs, client, api} = await startDomain(t, {
    'POST /filters': ({body}) => ({status: 201, data: {...globalFilter, ...JSON.parse(body)}}),
    'DELETE /filters/1000000007': {data: null},
  });
  const owner = {name: 'all domains', filters: client.filters};
  await openNewFilter(needs, owner);

  shell.fill(await shell.form(), {action: 'allow', pattern: 'a@b.example', authenticated: 'no'});
  const adding = await shell.question();
  adding.onYes();
  await eventually(() => shell.said.length > 0);
  askToRemoveFilter(needs, owner, globalFilter);
  const removing = await shell.question();
  removing.onYes();
  await shell.deferred[0]?.run(() => undefined);

  t.deepEqual(adding.lines, ['Add this mail filter to all domains?', '  ✓ allow, sender: a@b.example', '  from anybody']);
  t.is(removing.lines[0], 'Remove this mail filter for all domains?');
  t.deepEqual(
    api.requests.map(({method, path: asked}) => `${method} ${asked}`),
    ['POST /filters', 'DELETE /filters/1000000007'],
  );
  t.like(JSON.parse(api.requests[0]?.body ?? ''), {action: 'allow', authenticated: false});
});

test('the review of a filter shows its domain as DNS writes it, and the form refuses quotes around it', async t => {
  const {shell, needs, client} = await startDomain(t);
  await openNewFilter(needs, {name: 'all domains', filters: client.filters});
  const form = await shell.form();

  t.throws(() => shell.fill(form, {pattern: '\u201cq@spam.example\u201d'}), {message: /has the quotation mark/});
  shell.fill(form, {match: 'sender_domain', pattern: 'b\u00fccher.example'});

  t.deepEqual((await shell.question()).lines, [
    'Add this mail filter to all domains?',
    '  ✗ block, sender domain: xn--bcher-kva.example',
  ]);
});

test('a selector is checked by the rules of the node, and must not be taken', async t => {
  const {shell, needs} = await startDomain(t);
  await openNewDkimKey(needs, domain, [dkimKey]);
  const form = await shell.form();

  const faults = (selector: string) => form.check?.({selector, algorithm: 'ed25519'});

  t.deepEqual(faults(' mfd2027 '), {});
  t.deepEqual(faults('A b'), {selector: 'must be lower-case letters, digits and hyphens, such as mfd2026'});
  t.deepEqual(faults(dkimKey.selector), {selector: 'is taken by another key of the domain'});
});

test('reports that a node cannot send are warned of once the setting is saved', async t => {
  const {shell, edits} = await startDomain(t, {
    'GET /cluster/status': {data: clusterStatus([{...peer('mx1'), dmarc_unset: true}])},
  });
  await editDomain(edits, domain.id);

  shell.fill(await shell.form(), {dmarc_reporting: 'yes'});
  (await shell.question()).onYes();
  await eventually(() => shell.said.length > 0);

  t.regex(shell.said[0] ?? '', /^Saved example\.com: .*; no DMARC reports are sent by mx1, /);
});
