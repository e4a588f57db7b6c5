import test from 'ava';
import {checkedDns, domainDns} from '../../helpers/cli/sample-answers.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

test('records are printed as lines of a zone file, and all else as comments in it', async t => {
  const api = await startApi(t, {'GET /domains/7/dns': {data: {...domainDns, advice: ['set dmarc.receive_at in mfd.yaml']}}});

  const {code, stdout} = await api.mfctl(['domain', 'dns', '7']);

  t.is(code, 0);
  t.is(
    stdout,
    [
      '; DNS records of example.com',
      '; set dmarc.receive_at in mfd.yaml',
      'example.com. IN MX 10 mx1.example.net.',
      'example.com. IN MX 10 mx2.example.net.',
      'example.com. IN TXT "v=spf1 mx -all"',
      `mfd2026._domainkey.example.com. IN TXT "v=DKIM1; k=rsa; p=${'A'.repeat(237)}" "${'A'.repeat(153)}"`,
      '; Serve this file at https://mta-sts.example.com/.well-known/mta-sts.txt, and use mode: enforce once TLS reports show no failures:',
      ';   version: STSv1',
      ';   mode: testing',
      ';   mx: mx1.example.net',
      ';   max_age: 604800',
      '',
    ].join('\n'),
  );
  const [request] = api.requests;
  t.is(request?.query.get('check'), 'false');
});

test('with --check each record has a state, what is wrong its wanted line, and the exit status is 1', async t => {
  const api = await startApi(t, {'GET /domains/7/dns': {data: checkedDns}});

  const {code, stdout, stderr} = await api.mfctl(['domain', 'dns', '7', '--check']);

  t.is(code, 1);
  t.regex(stdout, /^RECORD +NAME +STATE +DETAIL\nmx +example\.com +right +-\nspf +example\.com +differs +\?all says nothing/);
  t.regex(stdout, /^dkim +mfd2026\._domainkey\.example\.com +missing +-$/m);
  t.regex(stderr, /^wanted: example\.com\. IN TXT "v=spf1 mx -all"$/m);
  t.regex(stderr, /^wanted: mfd2026\._domainkey\.example\.com\. IN TXT "v=DKIM1/m);
  t.notRegex(stderr, /IN MX/, 'what is right needs no line');
  t.regex(stderr, /^97 % of your mail passes DMARC .*; move from p=none to p=quarantine$/m);
  t.is(api.requests[0]?.query.get('check'), 'true');
});

test('where all is right the exit status is 0, and 1 where DNS did not answer', async t => {
  const [mx] = checkedDns.records;
  const right = await startApi(t, {'GET /domains/7/dns': {data: {...checkedDns, records: [mx]}}});
  const mute = await startApi(t, {
    'GET /domains/7/dns': {
      data: {...checkedDns, records: [{...mx, state: 'unknown', found: [], detail: 'the name servers did not answer in time'}]},
    },
  });

  const known = await right.mfctl(['domain', 'dns', '7', '--check', '-o', 'json']);
  const unknown = await mute.mfctl(['domain', 'dns', '7', '--check']);

  t.is(known.code, 0);
  t.is(JSON.parse(known.stdout).records.length, 1);
  t.is(unknown.code, 1);
  t.regex(unknown.stdout, /unknown +the name servers did not answer in time/);
  t.notRegex(unknown.stderr, /wanted/, 'nobody knows whether it is wrong');
});

test('what DNS says reaches no terminal as it is', async t => {
  const [, spf] = checkedDns.records;
  const evil = {...spf, detail: 'mail to \u001b]0;x\u0007evil goes past', found: ['\u001b[31mred']};
  const api = await startApi(t, {'GET /domains/7/dns': {data: {...checkedDns, records: [evil], advice: ['\u001b[2J']}}});

  const {stdout, stderr} = await api.mfctl(['domain', 'dns', '7', '--check', '-o', 'wide']);

  t.false(`${stdout}${stderr}`.includes('\u001b'));
});

test('no text of a node becomes a line of its own in a zone file, or a control byte', async t => {
  const evil = 'x\r\nwww.example.com. IN A 192.0.2.66\u001b[2J';
  const [mx, spf] = domainDns.records;
  const records = [
    {...mx, values: [evil, '10 mx1.example.net. ; x', `10 mx1.example.net.\n${evil}`]},
    {...mx, type: 'A\nwww IN A'},
    {...spf, name: evil},
    {...spf, name: 'a.example.com. IN A 192.0.2.66 ;'},
    {...spf, values: [`v=spf1 "${evil}`]},
  ];
  const data = {domain: evil, records, advice: [evil], mta_sts_policy: `version: STSv1\r${evil}`};
  const api = await startApi(t, {'GET /domains/7/dns': {data}});

  const {stdout} = await api.mfctl(['domain', 'dns', '7']);

  t.notRegex(stdout, /[^\P{Cc}\n]/u);
  const lines = stdout.trimEnd().split('\n');
  t.deepEqual(
    lines.filter(line => !line.startsWith('; ')),
    ['example.com. IN TXT "v=spf1 \\"x www.example.com. IN A 192.0.2.66\u241b[2J"'],
  );
  t.true(lines.includes('; not a record: a.example.com. IN A 192.0.2.66 ; v=spf1 mx -all'), stdout);
});
