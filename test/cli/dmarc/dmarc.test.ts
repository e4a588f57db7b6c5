import test from 'ava';
import {dmarcReport, dmarcSummary, reportedSources} from '../../helpers/cli/sample-answers.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

test('the summary lists sources with the part that is authenticated, and says how much mail there was', async t => {
  const api = await startApi(t, {'GET /dmarc/summary': {data: {...dmarcSummary, source_count: 5}}});

  const {code, stdout, stderr} = await api.mfctl(['dmarc', 'summary', 'example.com', '--since', '2026-02-01']);

  t.is(code, 0, stderr);
  t.regex(stdout, /^SOURCE +MAILS +PASS +SPF +DKIM +HELD +REJECTED\n192\.0\.2\.5 +1200 +100 % +100 % +75 % +0 +0\n/);
  t.regex(stderr, /2 of 5 sources/);
  t.regex(stderr, /1,250 mails since 2026-02-01, 1,200 pass DMARC/);
  const [request] = api.requests;
  t.deepEqual(Object.fromEntries(request?.query ?? []), {domain: 'example.com', since: '2026-02-01T00:00:00.000Z'});
});

test('reports are listed with what became of each address, page by page with --all', async t => {
  const api = await startApi(t, {'GET /dmarc/reports': {data: [dmarcReport], headers: {'x-total-count': '1'}}});

  const page = await api.mfctl(['dmarc', 'reports', '--limit', '5'], {columns: 200});
  const all = await api.mfctl(['dmarc', 'reports', '--all', '-o', 'json']);

  t.is(page.code, 0, page.stderr);
  t.regex(
    page.stdout,
    /2026-03-01 +shop\.example +sent +1200 +dmarc@shop\.example, old@shop\.example refused: 550 5\.1\.1 No such user/,
  );
  t.deepEqual(JSON.parse(all.stdout), [dmarcReport]);
});

test('a report is printed as it would be, and nothing without --dry-run', async t => {
  const preview = {day: '2026-03-01', policy_domain: 'shop.example', count: 3, addresses: [], xml: '<feedback>\n</feedback>\n'};
  const api = await startApi(t, {'GET /dmarc/reports/2026-03-01/shop.example': {data: preview}});
  const args = ['dmarc', 'report', '--policy-domain', 'shop.example', '--date', '2026-03-01'];

  const {code, stdout} = await api.mfctl([...args, '--dry-run']);
  const without = await api.mfctl(args);
  const wrong = await api.mfctl(['dmarc', 'report', '--policy-domain', 'shop.example', '--date', '2026-13-01', '--dry-run']);

  t.deepEqual([code, stdout], [0, '<feedback>\n</feedback>\n']);
  t.is(without.code, 2);
  t.regex(without.stderr, /--dry-run/);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /Must be a day such as 2026-03-01/);
  const odd = await api.mfctl(['dmarc', 'report', '--policy-domain', '..', '--date', '2026-03-01', '--dry-run']);
  t.is(odd.code, 5);
  t.regex(odd.stderr, /there is no domain "\.\."/);
});

test('a report that is written to a file has no control bytes', async t => {
  const xml = '<feedback>\r\n\t<org_name>x\u001b[2J\rmx1\u0085\u202e</org_name>\n</feedback>\n';
  const preview = {day: '2026-03-01', policy_domain: 'shop.example', count: 3, addresses: [], xml};
  const api = await startApi(t, {'GET /dmarc/reports/2026-03-01/shop.example': {data: preview}});

  const {stdout} = await api.mfctl(['dmarc', 'report', '--policy-domain', 'shop.example', '--date', '2026-03-01', '--dry-run']);

  t.is(stdout, '<feedback>\n\t<org_name>x\u241b[2J\u240dmx1\ufffd\ufffd</org_name>\n</feedback>\n');
});

test('the row for what is not stored one by one is named, and is no address', async t => {
  const [source] = reportedSources.sources;
  const data = {...reportedSources, sources: [{...source, source_ip: '::', name: null, network: '::/64'}]};
  const api = await startApi(t, {'GET /dmarc/sources': {data}});

  const {stdout} = await api.mfctl(['dmarc', 'sources', 'example.com']);

  t.regex(stdout, /^all others +- +- +970 /m);
});

test('sources are listed with who says so, and what cannot be verified is marked', async t => {
  const data = {...reportedSources, source_count: 1200};
  const api = await startApi(t, {'GET /dmarc/sources': {data, headers: {'x-unreachable-nodes': 'mx2'}}});

  const {code, stdout, stderr} = await api.mfctl(['dmarc', 'sources', 'example.com', '--since', '2026-02-01', '--verified']);

  t.is(code, 0, stderr);
  t.regex(stdout, /^SOURCE +NAME +NETWORK +MAILS +PASS +SPF +SPF ALIGNED +DKIM +DKIM ALIGNED +REPORTED BY\n/);
  t.regex(
    stdout,
    /^192\.0\.2\.5 +mx1\.example\.com +192\.0\.2\.0\/24 +970 +100 % +100 % +100 % +92 % +92 % +google\.example, mail\.example \(not verified\)$/m,
  );
  t.regex(stdout, /^2001:db8::7 +- +\S+ +30 +0 % +100 % +0 % +0 % +0 % +google\.example$/m);
  t.regex(stderr, /^2 of 1,200 sources$/m);
  t.regex(stderr, /1,000 mails since 2026-02-01 in 28 reports, 970 pass DMARC/);
  t.regex(stderr, /mx2/);
  const [request] = api.requests;
  t.deepEqual(Object.fromEntries(request?.query ?? []), {
    domain: 'example.com',
    since: '2026-02-01T00:00:00.000Z',
    verified: 'true',
  });
});

test('what names and reporters say of themselves reaches no terminal as it is', async t => {
  const [source] = reportedSources.sources;
  const evil = {...source, name: '\u001b]0;x\u0007evil', reporters: [{reporter: '\u001b[31mred', verified: false, count: 1}]};
  const api = await startApi(t, {'GET /dmarc/sources': {data: {...reportedSources, sources: [evil]}}});

  const {stdout} = await api.mfctl(['dmarc', 'sources', 'example.com']);

  t.false(stdout.includes('\u001b'));
  t.regex(stdout, /evil/);
});
