// What became of mail, asked for on any node.
import test from 'ava';
import type {MailEvent} from '../../shared/mail-event.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const cluster = forFile(async owner => startCluster(owner, {isProxied: false}));

const trace = async (node: ClusterNode, query: string): Promise<MailEvent[]> =>
  (await node.api('GET', `mail/trace?${query}`)).json.data;
const told = async (node: ClusterNode, query: string, count: number): Promise<MailEvent[]> =>
  eventually(async () => {
    const events = await trace(node, query);
    return events.length >= count && events;
  });

test('a mail is found on another node by recipient, Message-ID, author, client and queue id, whatever became of it', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const relayed = await alpha.createDomain(relayAll);
  const other = await alpha.createDomain();
  await cluster().converged();

  const text = `From: Chief <chief@bank.test>\r\nSubject: =?utf-8?q?=C3=9Cberweisung?=\r\nMessage-ID: <1.2@bank.test>\r\n\r\nx\r\n`;
  const reply = await alpha.send(text, {from: 'a@bank.test', to: [`b@${relayed.name}`]});
  t.is(reply.code, 250);
  const held = await beta.hold({to: `c@${other.name}`, subject: 'to be released'});
  await alpha.api('POST', `mail/quarantine/${held.node_id}/${held.queue_id}/release`);

  const [entry] = await told(gamma, `recipient=b@${relayed.name}`, 1);
  t.like(entry, {
    event: 'relayed',
    node_id: 'alpha',
    sender: 'a@bank.test',
    from: ['chief@bank.test'],
    subject: 'Überweisung',
    message_id: '1.2@bank.test',
    domain: relayed.name,
    direction: 'inbound',
  });
  t.regex(entry?.reply ?? '', /^250 /);
  t.regex(entry?.server ?? '', /:\d+$/);
  for (const query of [
    'message_id=<1.2@bank.test>',
    'from=bank.test',
    'address=chief@bank.test',
    'subject=weisung',
    'client=127.0.0.1&event=relayed',
  ])
    t.deepEqual(await trace(beta, `domain=${relayed.name}&${query}`), [entry], query);

  const story: MailEvent[] = (await gamma.api('GET', `mail/trace/${held.node_id}/${held.queue_id}`)).json.data;
  t.deepEqual(
    story.map(({event, node_id}) => [event, node_id]),
    [
      ['held', 'beta'],
      ['released', 'beta'],
    ],
  );
  t.truthy(story[1]?.key_name);
});

test('a domain-admin key finds what belongs to its domain, and nothing of others', async t => {
  const {alpha, beta} = cluster().nodes;
  const own = await alpha.createDomain();
  const other = await alpha.createDomain();
  await cluster().converged();
  const mails = [await alpha.hold({to: `a@${own.name}`}), await beta.hold({to: `a@${other.name}`})] as const;
  const {key} = await alpha.createKey('domain-admin', {domain: own.name});
  const quarantineOnly = await alpha.createKey('quarantine-only');
  await cluster().converged();

  const seen: MailEvent[] = (await beta.api('GET', 'mail/trace?limit=1000', {key})).json.data;

  t.deepEqual([...new Set(seen.map(({domain}) => domain))], [own.name]);
  t.is((await beta.api('GET', `mail/trace/${mails[1].node_id}/${mails[1].queue_id}`, {key})).status, 404);
  t.is((await beta.api('GET', 'mail/trace', {key: quarantineOnly.key})).status, 403);
});

test('a cursor that is no id is refused, and one of a node or a domain that is not there is a place like any other', async t => {
  const {alpha, beta} = cluster().nodes;
  const own = await alpha.createDomain();
  const other = await alpha.createDomain();
  await cluster().converged();
  const first = await alpha.hold({to: `a@${own.name}`});
  await beta.hold({to: `b@${other.name}`});
  const {key} = await alpha.createKey('domain-admin', {domain: own.name});
  await cluster().converged();
  const [last] = await trace(beta, `domain=${other.name}`);

  for (const cursor of ['', 'x', '-alpha', 'zzzzzzzzzzz-alpha', 'HOJ-alpha', 'hoj-alpha%0a', 'hoj-..%2f', 'a'.repeat(201)]) {
    const {status, json} = await beta.api('GET', `mail/trace?cursor=${cursor}`);
    t.deepEqual([status, json.error.code, json.error.fields[0].path], [400, 'invalid_parameter', 'cursor'], cursor);
  }
  for (const cursor of [last?.id, last?.id.replace('beta', 'nosuch')]) {
    const {json} = await beta.api('GET', `mail/trace?cursor=${cursor}`, {key});
    t.deepEqual(
      json.data.map(({queue_id}: MailEvent) => queue_id),
      [first.queue_id],
    );
  }
});

test('pages over all nodes follow each other without gaps and without repetition', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const {name} = await alpha.createDomain();
  await cluster().converged();
  for (let n = 0; n < 12; n += 1) await ([alpha, beta, gamma][n % 3] as ClusterNode).hold({to: `u${n}@${name}`});

  const seen: MailEvent[] = [];
  for (let next: string | undefined = `mail/trace?domain=${name}&limit=5`; next !== undefined; ) {
    const answer = await beta.api('GET', next);
    seen.push(...answer.json.data);
    next = /<\/api\/v1\/([^<>]+)>; rel="next"/.exec(String(answer.headers.link))?.[1];
  }

  t.is(new Set(seen.map(({id}) => id)).size, 12);
  t.is(seen.length, 12);
  t.deepEqual(
    seen.map(({at}) => at),
    seen
      .map(({at}) => at)
      .toSorted()
      .toReversed(),
  );
});

testOwnStore.serial('mfctl tells the story of every copy of a mail, and names the node that is down', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const relayed = await alpha.createDomain(relayAll);
  const other = await alpha.createDomain();
  await cluster().converged();
  const id = `copies@${relayed.name}`;
  const headers = `Message-ID: <${id}>\r\n`;
  await alpha.send(`Subject: relayed\r\n${headers}\r\nx\r\n`, {to: `a@${relayed.name}`});
  const held = await beta.hold({to: `b@${other.name}`, headers});
  const lost = await gamma.hold({to: `c@${other.name}`, headers});
  await alpha.api('POST', `mail/quarantine/${held.node_id}/${held.queue_id}/release`);
  await told(alpha, `message_id=${id}`, 3);
  const {key} = await alpha.createKey('domain-admin', {domain: relayed.name});

  const all = await alpha.mfctl(['trace', 'show', `<${id}>`]);
  const own = await alpha.mfctl(['trace', 'show', id], {env: {MFCTL_API_KEY: key}});
  const found = await alpha.mfctl(['trace', 'find', '--message-id', id, '-o', 'name']);
  await gamma.stop();
  const without = await alpha.mfctl(['trace', 'show', id]);
  const silent = await alpha.mfctl(['trace', 'show', `gamma/${lost.queue_id}`, '--retry-for', '0s']);
  await gamma.start();

  t.is(all.code, 0, all.stderr);
  t.deepEqual(
    all.stdout.match(/^ID: .*/gm)?.map(line => line.replace(/^ID: +(\w+)\/.*/, '$1')),
    ['alpha', 'beta', 'gamma'],
  );
  t.regex(all.stdout, new RegExp(`alpha passed it on to ${alpha.backend}\n`));
  t.regex(all.stdout, new RegExp(`released with the key .*, and passed on to ${alpha.backend}\n.*answered: 250 `));
  t.regex(own.stdout, /^ID: +alpha\//);
  t.false(own.stdout.includes(other.name));
  t.is(found.stdout.trim().split('\n').length, 3);
  t.deepEqual(without.stdout.match(/^ID: +\w+/gm)?.length, 2);
  t.regex(without.stderr, /the list is incomplete: gamma did not answer/);
  t.is(silent.code, 7);
  t.regex(silent.stderr, /node gamma cannot be reached/);
});
