import {buffer} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import PostalMime from 'postal-mime';
import {createDnsAnswers} from '../../../../daemon/mail/authentication/dns-answers.ts';
import {reportMail} from '../../../../daemon/mail/report/report-mail.ts';
import {createReportTransport} from '../../../../daemon/mail/report/report-transport.ts';
import type {ReportOrigin} from '../../../../daemon/services/dmarc/report-inbox.ts';
import type {Deliver, MailContent, Route} from '../../../../daemon/services/intake/mail.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';
import {reportXml} from '../../../helpers/report-mail.ts';

const zone: Zone = {
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
  'bank.test._report._dmarc.reader.test': {TXT: ['v=DMARC1']},
  'bank.test._report._dmarc.moved.test': {TXT: ['v=DMARC1; rua=mailto:other@moved.test']},
  'bank.test._report._dmarc.sly.test': {TXT: ['v=DMARC1; rua=mailto:victim@elsewhere.test']},
  'bank.test._report._dmarc.odd.test': {TXT: ['yes, please']},
  'many.test': {MX: ['20 second.test', '10 first.test']},
  'first.test': {A: ['203.0.113.1'], AAAA: ['2001:4860::1']},
  'second.test': {A: ['203.0.113.2', '127.0.0.1']},
  'alone.test': {A: ['203.0.113.3']},
  'none.test': {MX: ['0 .']},
  'nowhere.test': {MX: ['10 no.test']},
  'half.test': {MX: ['10 silent.test', '20 second.test']},
  'inside.test': {MX: ['10 a.inside.test', '20 b.inside.test', '30 localhost'], A: ['203.0.113.4']},
  'a.inside.test': {A: ['127.0.0.1', '10.0.0.1', '0.0.0.0', '169.254.169.254', '100.64.0.1', '192.168.1.1', '224.0.0.1']},
  'b.inside.test': {
    AAAA: ['::1', '::', 'fd00::1', 'fe80::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'],
  },
  localhost: {A: ['127.0.0.1']},
};

const backend = {host: 'backend.test', port: 25};

const report = {
  id: '2026-03-01.bank.test.0a1b2c3d@example.org',
  day: '2026-03-01',
  policy_domain: 'bank.test',
  created_at: '2026-03-02T01:00:00.000Z',
} as const;

const start = async (t: ExecutionContext, {smarthost}: {smarthost?: Route} = {}) => {
  const {server} = await startDnsZone(t, zone, question => question.includes('silent.test'));
  const answers = createDnsAnswers({
    servers: [server],
    timeoutMs: 1000,
    monotonic: () => performance.now(),
    onMute: () => {},
    onBack: () => {},
  });
  const routes: Route[] = [];
  const deliver: Deliver['deliver'] = async (route, {recipients}) => {
    routes.push(route);
    if (recipients[0]?.startsWith('slow@')) await new Promise(() => {});
    const outcome = recipients[0]?.startsWith('no@') ? 'refused' : 'delivered';
    return [
      {
        recipient: recipients[0] ?? '',
        outcome,
        reply: outcome === 'refused' ? {code: 550, text: '5.1.1 No'} : {code: 250, text: 'Ok'},
        isOfContent: outcome === 'delivered',
      },
    ];
  };
  const kept: ReportOrigin[] = [];
  const inbox = {
    isForReports: (address: string) => address === 'read@here.test',
    async take(content: MailContent, from: ReportOrigin) {
      kept.push(from);
      const {subject} = await PostalMime.parse(await buffer(content.open()));
      t.regex(subject ?? '', /^Report Domain: bank\.test/);
      return kept.length > 1 ? 'too many reports' : undefined;
    },
  };
  const clock = {ms: 0};
  const transport = createReportTransport({
    monotonic: () => clock.ms,
    newLookup: answers.forMail,
    deliver,
    inbox,
    routeTo: domain => (domain === 'here.test' ? {servers: [backend]} : smarthost),
    signFor: () => undefined,
    withinMs: 300,
  });
  return {
    transport,
    routes,
    kept,
    clock,
    send: async (address: string) => transport.deliver(report as never, address, {from: 'dmarc@example.org', xml: '<feedback/>'}),
  };
};

test('addresses of the same organisation get reports, and others only when their domain says so', async t => {
  const {transport} = await start(t);
  const to = async (address: string) => transport.destinationOf(address, 'bank.test');

  t.is(await to('a@bank.test'), 'a@bank.test');
  t.is(await to('a@mail.bank.test'), 'a@mail.bank.test');
  t.is(await to('a@reader.test'), 'a@reader.test');
  t.is(await to('a@moved.test'), 'other@moved.test', 'it names another address of its own');
  t.is(await to('a@sly.test'), undefined, 'it names an address of somebody else');
  t.is(await to('a@odd.test'), undefined);
  t.is(await to('a@victim.test'), undefined);
  await t.throwsAsync(to('a@silent.test'), {message: /DNS gave no answer/});
});

test('reports go to the smarthost, or to the addresses of the mail exchangers in their order', async t => {
  const smarthost = {servers: [{host: 'smart.test', port: 587}]};
  const through = await start(t, {smarthost});
  const direct = await start(t);

  await through.send('a@many.test');
  await direct.send('a@many.test');
  await direct.send('a@alone.test');

  await direct.send('a@HERE.test');

  t.deepEqual(through.routes, [smarthost]);
  t.deepEqual(
    direct.routes.map(({servers}) => servers.map(({host, port}) => `${host}:${port}`)),
    [['203.0.113.1:25', '2001:4860::1:25', '203.0.113.2:25'], ['203.0.113.3:25'], ['backend.test:25']],
    'and to a domain here to its backend',
  );
});

test('a domain that takes no mail refuses for good, one that DNS is silent about does not, and what a server says is kept', async t => {
  const {send} = await start(t);

  t.deepEqual(await send('a@none.test'), {state: 'refused', detail: 'its domain takes no mail'});
  t.deepEqual(await send('a@silent.test'), {state: 'waiting', detail: 'DNS gave no answer'});
  t.deepEqual(await send('no@many.test'), {state: 'refused', detail: '550 5.1.1 No'});
  t.deepEqual(await send('slow@many.test'), {state: 'waiting', detail: 'its server took too long'});
  t.deepEqual(await send('a@many.test'), {state: 'sent', detail: '250 Ok'});
});

test('the mail of a report is the same each time, and has the form of RFC 9990', async t => {
  const parts = {report, xml: '<feedback/>\n', from: 'dmarc@example.org', to: 'dmarc@bank.test'};

  const bytes = await reportMail(parts);
  const mail = bytes.toString();

  t.is((await reportMail(parts)).toString(), mail);
  const unfolded = mail.replaceAll(/\r\n[ \t]+/g, ' ');
  t.true(unfolded.includes(`Subject: Report Domain: bank.test Submitter: example.org Report-ID: <${report.id}>`), unfolded);
  t.true(unfolded.includes(`Message-ID: <${report.id}>`));
  t.true(unfolded.includes('Date: Mon, 02 Mar 2026 01:00:00 +0000'));
  t.true(unfolded.includes('Auto-Submitted: auto-generated'));
  t.regex(unfolded, /filename="?example\.org!bank\.test!1772323200!1772409599!0a1b2c3d\.xml\.gz/);
  t.is(reportXml(bytes), '<feedback/>\n');
});

test('a report to an address at which this cluster reads them goes to no server', async t => {
  const {send, routes, kept} = await start(t);

  const first = await send('read@here.test');
  const second = await send('read@here.test');

  t.deepEqual(first, {state: 'sent', detail: 'read by this cluster'});
  t.deepEqual(second, {state: 'waiting', detail: 'too many reports'});
  t.deepEqual(kept[0], {domain: 'example.org', isVerified: true});
  t.deepEqual(routes, []);
});

test('a mail exchanger of somebody else inside a machine or a site gets nothing, whatever its address looks like', async t => {
  const {send, routes} = await start(t);

  const inside = await send('a@inside.test');
  const here = await send('a@localhost');

  t.deepEqual(inside, {state: 'left out', detail: 'its mail servers have no public address'});
  t.deepEqual(here, inside);
  t.deepEqual(routes, []);
});

test('exchangers whose names have no address are tried again, and one that DNS is silent about keeps no other from being used', async t => {
  const {send, routes} = await start(t);

  t.deepEqual(await send('a@nowhere.test'), {state: 'waiting', detail: 'its mail servers have no address'});
  t.is((await send('a@half.test')).state, 'sent');
  t.deepEqual(routes, [{servers: [{host: '203.0.113.2', port: 25}]}]);
});

test('a server gets twenty reports within a minute, whatever domains they are for, and the smarthost too', async t => {
  const direct = await start(t);
  const through = await start(t, {smarthost: {servers: [{host: 'smart.test', port: 587}]}});
  const sendAll = async (send: (address: string) => Promise<{state: string; isPostponed?: boolean}>) =>
    (await Promise.all(Array.from({length: 30}, async (_, n) => send(n % 2 ? 'a@many.test' : 'a@half.test')))).filter(
      ({isPostponed}) => isPostponed,
    ).length;

  const postponed = [await sendAll(direct.send), await sendAll(through.send)];
  const other = await direct.send('a@alone.test');
  direct.clock.ms += 59_999;
  const early = await direct.send('a@many.test');
  direct.clock.ms += 1;
  const next = await direct.send('a@many.test');

  t.deepEqual(postponed, [10, 10]);
  t.deepEqual([other.state, early.state, next.state], ['sent', 'waiting', 'sent']);
  t.is(direct.routes.length, 22);
});
