// --all and --sort of lists.
import test, {type ExecutionContext} from 'ava';
import {outputFormats} from '../../../cli/output/output-format.ts';
import {run} from '../../../cli/program.ts';
import type {AuditEntry} from '../../../shared/audit-entry.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';
import {auditEntry, summary} from '../../helpers/cli/sample-answers.ts';
import {clusterStatus, domain, key, mail, peer} from '../../helpers/cli/sample-records.ts';
import {type Received, startApi} from '../../helpers/cli/scripted-api.ts';

const firstMs = Date.parse('2026-03-01T00:00:00.000Z');

/** Newest first. The 10 mails around the end of the first page arrived in the same millisecond. */
const mailsOf = (count: number): HeldMail[] =>
  Array.from({length: count}, (_, at) => {
    const atMs = at >= 995 && at < 1005 ? 1000 : at;
    return {
      ...mail,
      queue_id: `q${String(at).padStart(6, '0')}`,
      subject: `subject ${at}`,
      score: (at * 7) % 50,
      arrived_at: new Date(firstMs - atMs).toISOString(),
    };
  });

/** Pages like a node: `until`, then `offset`, then `limit`. */
const startHolding = async (t: ExecutionContext, mails: HeldMail[], headers: Record<string, string> = {}) => {
  const page = ({query}: Received) => {
    const until = query.get('until');
    const found = mails.filter(({arrived_at}) => until === null || arrived_at < until);
    const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 100)];
    return {data: found.slice(offset, offset + limit), headers: {'x-total-count': String(found.length), ...headers}};
  };
  return startApi(t, {'GET /mail/quarantine': page});
};

const idsIn = (stdout: string): string[] => stdout.match(/q\d{6}/g) ?? [];

test('--all prints every mail once, in every format as one list', async t => {
  const mails = mailsOf(2500);
  const api = await startHolding(t, mails);
  const few = await startHolding(t, mails.slice(0, 3));
  const ids = mails.map(({queue_id}) => queue_id);

  for (const format of outputFormats) {
    const {code, stdout, stderr} = await api.mfctl(['quarantine', 'list', '--all', '-o', format]);

    t.is(code, 0, stderr);
    t.is(stderr, '');
    t.deepEqual(idsIn(stdout), ids, format);
    const [all, page] = [
      await few.mfctl(['quarantine', 'list', '--all', '-o', format]),
      await few.mfctl(['quarantine', 'list', '-o', format]),
    ];
    t.deepEqual(all, page, 'a list of one page is the same with --all and without');
  }
  t.deepEqual(JSON.parse((await api.mfctl(['quarantine', 'list', '--all', '-o', 'json'])).stdout), mails);
});

test('a list in pages reads as a list in one', async t => {
  const mails = mailsOf(1500).map(one => ({...one, subject: 'x'}));
  const api = await startHolding(t, mails);
  // A node that returns everything at once.
  const other = await startApi(t, {'GET /mail/quarantine': {data: mails}});

  for (const format of outputFormats) {
    const all = await api.mfctl(['quarantine', 'list', '--all', '-o', format]);
    const once = await other.mfctl(['quarantine', 'list', '-o', format]);

    t.true(all.stdout === once.stdout, format);
  }
  const picked = await api.mfctl(['quarantine', 'list', '--all', '--json', 'queue_id,score', '-o', 'csv']);
  t.is(picked.stdout.split('\r\n').length, 1502);
  t.regex(picked.stdout, /^queue_id,score\r\nq000000,0\r\n/);
});

test('a list in pages fits the terminal, and says what is missing', async t => {
  const api = await startHolding(t, mailsOf(1200), {'x-unreachable-nodes': 'mx3'});

  const {stdout, stderr} = await api.mfctl(['quarantine', 'list', '--all'], {columns: 80});
  const strict = await api.mfctl(['quarantine', 'list', '--all', '--strict']);

  t.true(stdout.split('\n').every(line => line.length <= 80));
  t.is(idsIn(stdout).length, 1200);
  t.is(stderr, 'warning: the list is incomplete: mx3 did not answer\n');
  t.is(strict.code, 6);
});

test('no more pages are asked for once nobody reads', async t => {
  const api = await startHolding(t, mailsOf(20_000));
  const terminal = createFakeTerminal({env: api.env});
  terminal.stdout.on('error', () => undefined);
  const write = terminal.stdout.write.bind(terminal.stdout);
  let written = 0;
  terminal.stdout.write = ((text: string, done?: (error?: Error) => void) => {
    written += 1;
    if (written === 2) return done?.(Object.assign(new Error('EPIPE'), {code: 'EPIPE'}));
    return write(text, done as () => void);
  }) as typeof write;

  t.is(await run(['quarantine', 'list', '--all'], terminal), 0);
  t.is(api.requests.length, 3);
});

test('--all goes with neither --limit nor --offset', async t => {
  for (const list of [['quarantine', 'list'], ['audit']])
    for (const other of ['--limit', '--offset']) {
      const {code, stderr} = await (await startApi(t, {})).mfctl([...list, '--all', other, '5']);

      t.is(code, 2);
      t.regex(stderr, /'--all' cannot be used with option '--(limit|offset)/);
    }
});

test('audit --all goes to the end, and no entry comes twice when others are added meanwhile', async t => {
  const entries: AuditEntry[] = Array.from({length: 2400}, (_, at) => ({...auditEntry, seq: 2400 - at}));
  const api = await startApi(t, {
    'GET /audit': ({query}) => {
      const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
      const data = entries.slice(offset, offset + limit);
      entries.unshift({...auditEntry, seq: entries.length + 1});
      return {data};
    },
  });

  const {code, stdout} = await api.mfctl(['audit', '--all', '--since', '1d', '-o', 'name']);

  t.is(code, 0);
  t.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map(name => Number(name.split(':')[1])),
    Array.from({length: 2400}, (_, at) => 2400 - at),
  );
  t.true(api.requests.every(({query}) => query.has('since')));
});

test('a table is sorted by a field or a column, in either direction', async t => {
  const mails = mailsOf(4).map((one, at) => ({
    ...one,
    size_bytes: [900, 2048, 1_000_000, 10][at] ?? 0,
    score: [3, 20, 1.5, 20][at] ?? 0,
  }));
  const api = await startApi(t, {'GET /mail/quarantine': {data: mails}});
  const sorted = async (...flags: string[]) =>
    idsIn((await api.mfctl(['quarantine', 'list', ...flags])).stdout).map(id => Number(id.slice(1)));

  t.deepEqual(await sorted('--sort', 'score'), [2, 0, 1, 3]);
  // Equal entries keep their order.
  t.deepEqual(await sorted('--sort', '-score'), [1, 3, 0, 2]);
  t.deepEqual(await sorted('--sort=-size'), [2, 1, 0, 3]);
  t.deepEqual(await sorted('--sort', 'SIZE', '-o', 'json'), [3, 0, 1, 2]);
  t.deepEqual(await sorted('--sort', 'arrived_at'), [3, 2, 1, 0]);
});

test('every list can be sorted, and what has no value comes last', async t => {
  const api = await startApi(t, {
    'GET /domains': {
      data: [
        {...domain, name: 'b.example'},
        {...domain, name: 'a.example'},
      ],
    },
    'GET /domains/7/filters': {data: []},
    'GET /filters': {data: []},
    'GET /domains/7/dkim-keys': {data: []},
    'GET /auth/api-keys': {
      data: [key, {...key, id: 8, last_used_at: key.created_at}, {...key, id: 9, last_used_at: '2026-01-01T00:00:00.000Z'}],
    },
    'GET /cluster/status': {data: clusterStatus([peer('mx10'), peer('mx2')])},
    'GET /mail/quarantine/summary': {data: summary},
    'GET /audit': {data: [auditEntry]},
  });
  const names = async (...argv: string[]) => (await api.mfctl([...argv, '-o', 'name'])).stdout.split('\n').slice(0, -1);

  t.deepEqual(await names('domain', 'list', '--sort', 'name'), ['a.example', 'b.example']);
  t.deepEqual(await names('key', 'list', '--sort', 'last-used'), ['9', '8', '7']);
  t.deepEqual(await names('key', 'list', '--sort', '-last_used_at'), ['8', '9', '7']);
  t.deepEqual(await names('cluster', 'status', '--sort', 'node'), ['mx2', 'mx10']);
  const status = JSON.parse((await api.mfctl(['cluster', 'status', '--sort', 'node', '-o', 'json'])).stdout);
  t.is(status.peers[0].node_id, 'mx2');
  for (const [argv, field] of [
    [['audit'], 'at'],
    [['quarantine', 'summary'], 'count'],
    [['domain', 'filters', 'list', '7'], 'score'],
    [['filter', 'list'], 'score'],
    [['domain', 'dkim', 'list', '7'], 'selector'],
    [['context', 'list'], 'name'],
  ] as const)
    t.is((await api.mfctl([...argv, '--sort', field])).code, 0, argv.join(' '));
});

test('a field that is not there is refused with those that are, before anything is asked', async t => {
  const api = await startApi(t, {});

  const {code, stderr} = await api.mfctl(['quarantine', 'list', '--sort', 'scoer']);

  t.is(code, 2);
  t.regex(stderr, /^error: there is no field "scoer" to sort by; there are node_id, queue_id, .*; and the columns id, arrived, /);
  t.is(api.requests.length, 0);
});

test('a page that is sorted is said to be one page, and with --all the whole list is sorted', async t => {
  const mails = mailsOf(1100);
  const api = await startHolding(t, mails);

  const page = await api.mfctl(['quarantine', 'list', '--sort', '-score', '-o', 'name']);
  const all = await api.mfctl(['quarantine', 'list', '--sort', '-score', '--all', '-o', 'name']);

  t.regex(page.stderr, /only this page is sorted; --all sorts the whole list\n$/);
  t.is(all.stderr, '');
  const scores = idsIn(all.stdout).map(id => mails[Number(id.slice(1))]?.score ?? -1);
  t.is(scores.length, 1100);
  t.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
});

test('a sort that a person completes is one of the fields', async t => {
  const api = await startApi(t, {});

  const {stdout} = await api.mfctl(['__complete', '--', 'domain', 'list', '--sort', 'qu']);

  t.is(stdout, 'quarantine_threshold\t\n');
});

test('--all is taken by lists that are whole anyway', async t => {
  const api = await startApi(t, {'GET /domains': {data: [domain]}, 'GET /auth/api-keys': {data: [key]}});

  for (const noun of ['domain', 'key']) {
    const [all, plain] = [await api.mfctl([noun, 'list', '--all']), await api.mfctl([noun, 'list'])];
    t.is(all.code, 0, all.stderr);
    t.is(all.stdout, plain.stdout);
  }
});
