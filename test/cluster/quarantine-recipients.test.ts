// Release and discard for some of the recipients, over the nodes of a cluster.
import test from 'ava';
import type {BulkResult, MailReference, RecipientState} from '../../shared/held-mail.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';

const cluster = forFile(async owner => startCluster(owner, {isProxied: false}));
const nodes = (): ClusterNode[] => Object.values(cluster().nodes);
const nodeOf = (n: number): ClusterNode => nodes()[n % 3] as ClusterNode;
const pathOf = ({node_id, queue_id}: MailReference) => `mail/quarantine/${node_id}/${queue_id}`;
const deliveries = () => cluster().sink.mails.flatMap(({recipients}) => recipients);

const createDomain = async () => {
  const domain = await cluster().nodes.alpha.createDomain();
  await cluster().converged();
  return domain;
};

const historyOf = async (node: ClusterNode, {node_id, queue_id}: MailReference): Promise<string[]> => {
  const events: MailEvent[] = (await node.api('GET', `mail/trace/${node_id}/${queue_id}`)).json.data;
  return events.map(({event, recipients, recipients_left}) => `${event} ${recipients.join()} ${recipients_left}`);
};

test.serial('25 releases and 25 discards at once over three nodes, each for one of 50 recipients: 25 deliveries', async t => {
  const {name} = await createDomain();
  const recipients = Array.from({length: 50}, (_, n) => `race${n}@${name}`);
  const mail = await cluster().nodes.beta.hold({to: recipients, from: 'sender@outside.test'});
  const {body} = await cluster().nodes.beta.api('GET', `${pathOf(mail)}/body`);
  const isReleased = (n: number) => n % 2 === 0;

  const answers = await Promise.all(
    recipients.map(async (recipient, n) =>
      nodeOf(n).api('POST', `${pathOf(mail)}/${isReleased(n) ? 'release' : 'discard'}`, {body: {recipients: [recipient]}}),
    ),
  );

  for (const [n, {status, json}] of answers.entries())
    t.is(`${status} ${json.data?.state} ${json.data?.already}`, `200 ${isReleased(n) ? 'released' : 'discarded'} false`);
  t.deepEqual(deliveries().toSorted(), recipients.filter((_, n) => isReleased(n)).toSorted());
  const sent = cluster().sink.mails.filter(({recipients: [one = '']}) => one.endsWith(name));
  t.true(sent.every(({sender, content}) => sender === 'sender@outside.test' && content.equals(body)));
  t.is((await nodeOf(0).api('GET', `mail/quarantine?domain=${name}`)).headers['x-total-count'], '0');
  const history = await historyOf(cluster().nodes.gamma, mail);
  t.is(history.length, 51);
  t.is(history.filter(line => line.endsWith(' null')).length, 2, 'when it was held, and its end');
  // Who asks again is told the same.
  t.like((await nodeOf(0).api('POST', `${pathOf(mail)}/release`, {body: {recipients: [recipients[0]]}})).json.data, {
    state: 'released',
    already: true,
  });
  t.is((await nodeOf(1).api('POST', `${pathOf(mail)}/discard`, {body: {recipients: [recipients[0]]}})).status, 409);
});

test.serial('of a release and a discard for the same recipient at once, through two nodes, one wins', async t => {
  const {name} = await createDomain();
  const recipients = Array.from({length: 10}, (_, n) => `duel${n}@${name}`);
  const mail = await cluster().nodes.alpha.hold({to: recipients});

  const duels = await Promise.all(
    recipients.map(async (recipient, n) =>
      Promise.all(
        ['release', 'discard'].map(async (action, which) =>
          nodeOf(n + which).api('POST', `${pathOf(mail)}/${action}`, {body: {recipients: [recipient]}}),
        ),
      ),
    ),
  );

  const won: string[] = [];
  for (const [n, duel] of duels.entries()) {
    t.deepEqual(duel.map(({status}) => status).toSorted(), [200, 409]);
    if (duel[0]?.status === 200) won.push(recipients[n] ?? '');
  }
  t.deepEqual(
    deliveries()
      .filter(recipient => recipient.startsWith('duel'))
      .toSorted(),
    won.toSorted(),
  );
});

test.serial(
  'what is left is listed, told by recipient, and in the trace; who knows two states hears of the end only',
  async t => {
    const {alpha, beta, gamma} = cluster().nodes;
    const {name} = await createDomain();
    const [ann, ben, cat] = [`ann@${name}`, `ben@${name}`, `cat@${name}`];
    const stream = await watchEvents(t, beta, {query: '?type=released,discarded'});
    await stream.listening();
    const mail = await beta.hold({to: [ann, ben, cat]});
    const other = await gamma.hold({to: [ann, ben]});
    const {key, id: keyId} = await alpha.createKey('full-admin');
    await cluster().converged();

    const bulk = await alpha.api('POST', 'mail/quarantine/release', {
      key,
      body: {
        items: [
          {...mail, recipients: [ben.toUpperCase()]},
          {...mail, recipients: ['nobody@elsewhere.test']},
          {...other, recipients: [ann, ben]},
        ],
      },
    });

    const results: BulkResult[] = bulk.json.data;
    t.deepEqual(
      results.map(result => ('error' in result ? result.error.code : result.state)),
      ['released', 'validation_failed', 'released'],
    );
    for (const node of nodes()) {
      const {recipients, recipient_states: states} = (await node.api('GET', pathOf(mail))).json.data;
      t.deepEqual(recipients, [ann, cat]);
      t.deepEqual(
        states.map(({address, state, acted_by}: RecipientState) => `${address} ${state} ${acted_by}`),
        [`${ann} held null`, `${cat} held null`, `${ben} released ${keyId}`],
      );
      t.is((await node.api('GET', `mail/quarantine?recipient=${ben}`)).headers['x-total-count'], '0');
    }
    const unknown = await gamma.api('POST', `${pathOf(mail)}/discard`, {body: {recipients: ['nobody@elsewhere.test']}});
    t.is(unknown.status, 422);
    t.deepEqual(unknown.json.error.fields, [
      {path: 'recipients.0', detail: 'nobody@elsewhere.test is no recipient of this mail'},
    ]);
    t.is((await gamma.api('POST', `${pathOf(mail)}/discard`, {body: {recipients: []}})).status, 422);

    await gamma.api('POST', `${pathOf(mail)}/discard`, {body: {}});

    t.deepEqual(await historyOf(alpha, mail), [
      `held ${ann},${ben},${cat} null`,
      `released ${ben} 2`,
      `discarded ${ann},${cat} null`,
    ]);
    const told = await eventually(() => stream.events.length >= 2 && stream.events);
    t.deepEqual(
      told.map(({data}) => `${data.type} ${'queue_id' in data && data.queue_id}`).toSorted(),
      [`discarded ${mail.queue_id}`, `released ${other.queue_id}`].toSorted(),
    );
  },
);
