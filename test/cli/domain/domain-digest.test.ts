import test, {type ExecutionContext} from 'ava';
import {digestDefaults} from '../../../shared/digest-rules.ts';
import {domain} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const path = `/domains/${domain.id}/digest`;
const off = {domain: domain.name, ...digestDefaults};
const on = {...off, enabled: true, at: '06:30', timezone: 'Europe/Berlin', except: ['info@example.com']};

const start = async (t: ExecutionContext, data: object = on) => {
  const api = await startApi(t, {'GET /domains': {data: [domain]}, [`GET ${path}`]: {data}, [`PUT ${path}`]: {data}});
  const run = async (...args: string[]) => api.mfctl(['domain', 'digest', domain.name, ...args]);
  const changes = () => api.requests.flatMap(({method, body}) => (method === 'PUT' ? [JSON.parse(body ?? '')] : []));
  return {run, changes};
};

test('it shows whether and when digests are sent, and what recipients may do', async t => {
  const {stdout} = await (await start(t)).run();

  t.regex(stdout, /Digests: +daily at 06:30, Europe\/Berlin/);
  t.regex(stdout, /Spam: +recipients may release it/);
  t.regex(stdout, /Phishing: +recipients may ask an administrator to release it/);
  t.regex(stdout, /Sandbox: +not listed/);
  t.regex(stdout, /Not to: +info@example\.com/);
  t.regex((await (await start(t, off)).run()).stdout, /Digests: +off/);
});

test('only what is given is changed', async t => {
  const {run, changes} = await start(t);

  await run('--enable', '--at', '06:30', '--timezone', 'Europe/Berlin', '--language', 'de');
  await run('--action', 'phishing=none', '--action', 'sandbox=request');
  await run('--except', 'info@example.com', '--except', '*@example.com');
  await run('--except', 'none', '--disable');

  t.deepEqual(changes(), [
    {enabled: true, at: '06:30', timezone: 'Europe/Berlin', language: 'de'},
    {actions: {phishing: 'none', sandbox: 'request'}},
    {except: ['info@example.com', '*@example.com']},
    {enabled: false, except: []},
  ]);
});

test('a preview is printed as it would be read, and asks for nothing else', async t => {
  const preview = {
    from: 'q@example.com',
    to: 'ann@example.com',
    subject: 'A mail is held',
    text: 'first\u{1b}[2J\n',
    html: '',
    mails: 1,
  };
  const api = await startApi(t, {'GET /domains': {data: [domain]}, [`GET ${path}/preview`]: {data: preview}});
  const args = ['domain', 'digest', domain.name, '--preview', 'ann@example.com'];

  const {stdout} = await api.mfctl(args);
  t.regex(stdout, /From: +q@example\.com\nTo: +ann@example\.com\nSubject: +A mail is held\n\nfirst␛\[2J\n$/);
  t.deepEqual(JSON.parse((await api.mfctl([...args, '-o', 'json'])).stdout), preview);
  t.is((await api.mfctl([...args, '--enable'])).code, 2);
  t.true(api.requests.every(({method}) => method === 'GET'));
});

test('digests are sent now after a change, and it says what became of them', async t => {
  const sent = {domain: domain.name, sent: 3, refused: 1, is_waiting: false, failure: '550 no such user'};
  const api = await startApi(t, {
    'GET /domains': {data: [domain]},
    [`PUT ${path}`]: {data: on},
    [`POST ${path}/send`]: {data: sent},
  });

  const {stdout} = await api.mfctl(['domain', 'digest', domain.name, '--enable', '--send-now']);
  t.regex(stdout, /Sent: +3\nRefused: +1\nOthers: +-\nLast failure: +550 no such user/);
  t.deepEqual(
    api.requests.map(({method}) => method),
    ['GET', 'PUT', 'POST'],
  );
});

test('what is no reason, no action or given twice is a mistake that changes nothing', async t => {
  const {run, changes} = await start(t);
  const wrong: [string[], RegExp][] = [
    [['--action', 'spam'], /--action spam must be one of spam, phishing, sandbox, rbl with one of release, request, none/],
    [['--action', 'virus=none'], /must be one of spam/],
    [['--action', 'spam=delete'], /must be one of spam/],
    [['--action', 'spam=none', '--action', 'spam=release'], /spam is given twice/],
    [['--language', 'fr'], /en, de/],
    [['--enable', '--disable'], /--disable/],
  ];

  for (const [args, text] of wrong) {
    const {code, stderr} = await run(...args);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, text);
  }
  t.deepEqual(changes(), []);
});
