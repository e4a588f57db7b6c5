import {readdir} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import {outputFormats} from '../../cli/output/output-format.ts';
import {allCommands, mfctlCommands, wordsOf} from '../helpers/cli/command-tree.ts';
import {type FakeTerminalOptions, runCli} from '../helpers/cli/fake-terminal.ts';
import {
  auditEntry,
  checkedDns,
  clusterNode,
  createdKey,
  dkimKey,
  dmarcReport,
  dmarcSummary,
  domainDns,
  drift,
  filter,
  globalFilter,
  me,
  reportedSources,
  status,
  summary,
  token,
  webhook,
  webhookDeliveries,
  webhookDetail,
} from '../helpers/cli/sample-answers.ts';
import {detail, domain, key, mail, mailEvent, outcome} from '../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../helpers/cli/scripted-api.ts';
import {asSession, matchSnapshot, snapshotFolder} from '../helpers/cli/snapshot.ts';

const nouns = {
  whoami: {
    commands: [['whoami']],
    answers: {'GET /auth/me': {data: me}},
  },
  key: {
    commands: [
      ['key', 'list'],
      ['key', 'show', 'monitoring'],
      ['key', 'create', '--name', 'script', '--scope', 'read-only'],
      ['key', 'revoke', '7', '--yes'],
      ['key', 'delete', '7', '--yes'],
    ],
    answers: {
      'GET /auth/api-keys': {
        data: [
          {...key, last_used_at: key.created_at},
          {...key, id: 9, name: 'Example Ltd.', scope: 'domain-admin', domain: 'example.com', revoked_at: key.created_at},
        ],
      },
      'POST /auth/api-keys': {status: 201, data: createdKey},
      'POST /auth/api-keys/7/revoke': {data: {...key, revoked_at: key.created_at}},
      'DELETE /auth/api-keys/7': {data: null},
    },
  },
  domain: {
    commands: [
      ['domain', 'list'],
      ['domain', 'get', '7'],
      ['domain', 'create', 'example.com', '--backend', 'mail.example.com:25'],
      ['domain', 'delete', '7', '--yes'],
    ],
    answers: {
      'GET /domains': {
        data: [domain, {...domain, id: 1_000_000_002, name: 'a-longer-name.example.org', active: false, tenant_id: 7}],
      },
      'GET /domains/7': {data: domain},
      'POST /domains': {status: 201, data: domain},
      [`DELETE /domains/${domain.id}`]: {data: null},
    },
  },
  dmarc: {
    commands: [
      ['dmarc', 'summary', 'example.com'],
      ['dmarc', 'sources', 'example.com'],
      ['dmarc', 'reports'],
    ],
    answers: {
      'GET /dmarc/summary': {data: dmarcSummary},
      'GET /dmarc/sources': {data: reportedSources},
      'GET /dmarc/reports': {
        data: [dmarcReport, {...dmarcReport, state: 'waiting', next_at: dmarcReport.created_at, ended_at: null}],
      },
    },
  },
  'domain-dns': {
    commands: [['domain', 'dns', '7']],
    answers: {'GET /domains/7/dns': {data: domainDns}},
  },
  'domain-dns-check': {
    commands: [['domain', 'dns', '7', '--check']],
    answers: {'GET /domains/7/dns': {data: checkedDns}},
  },
  'domain-filters': {
    commands: [
      ['domain', 'filters', 'list', '7'],
      ['domain', 'filters', 'show', '7', '6'],
      ['domain', 'filters', 'add', '7', '--score', '-3', '--header', 'List-Id: *news.example*'],
      ['domain', 'filters', 'remove', '7', '5'],
    ],
    answers: {
      'GET /domains/7/filters': {
        data: [
          filter,
          {
            ...filter,
            id: 6,
            action: 'block',
            match: 'sender',
            header: null,
            score: null,
            pattern: 'a@b.example',
            authenticated: false,
          },
          {
            ...filter,
            id: 7,
            action: 'allow',
            match: 'sender',
            header: null,
            score: null,
            pattern: 'c@d.example',
            authenticated: false,
          },
        ],
      },
      'POST /domains/7/filters': {status: 201, data: filter},
      'DELETE /domains/7/filters/5': {data: null},
    },
  },
  filter: {
    commands: [
      ['filter', 'list'],
      ['filter', 'show', '5'],
      ['filter', 'add', '--block', '--sender', 'a@b.example'],
      ['filter', 'remove', '5'],
    ],
    answers: {
      'GET /filters': {data: [globalFilter, {...globalFilter, id: 5, action: 'allow'}]},
      'POST /filters': {status: 201, data: globalFilter},
      'DELETE /filters/5': {data: null},
    },
  },
  'domain-dkim': {
    commands: [
      ['domain', 'dkim', 'list', '7'],
      ['domain', 'dkim', 'show', '7', dkimKey.selector],
      ['domain', 'dkim', 'create', '7', '--selector', 'mfd2026', '--algorithm', 'ed25519'],
    ],
    answers: {'GET /domains/7/dkim-keys': {data: [dkimKey]}, 'POST /domains/7/dkim-keys': {status: 201, data: dkimKey}},
  },
  quarantine: {
    commands: [
      ['quarantine', 'list'],
      ['quarantine', 'show', 'mx1/aaaaaa'],
      ['quarantine', 'summary'],
    ],
    answers: {
      'GET /audit': {data: [{...auditEntry, action: 'quarantine.body', target: 'mx1/aaaaaa', detail: ''}]},
      'GET /mail/quarantine': {
        data: [
          mail,
          {
            ...mail,
            queue_id: 'bbbbbb',
            sender: 'news@example.net',
            recipients: ['a@example.com'],
            subject: '=HYPERLINK("https://evil.example")',
            reason: 'phishing',
          },
        ],
        headers: {'x-total-count': '2345', 'x-unreachable-nodes': 'mx3'},
      },
      'GET /mail/quarantine/summary': {data: summary},
      'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
      'GET /mail/quarantine/mx1/aaaaaa/body': {
        raw: 'Received: from x\r\nSubject: =?utf-8?B?8J+Zgg==?= \x1b[2J\r\nContent-Type: text/plain\r\n\r\nHello \x1b[31mred\r\nErrors:\r\n',
      },
    },
  },
  'quarantine-act': {
    commands: [
      ['quarantine', 'release', 'mx1/aaaaaa'],
      ['quarantine', 'discard', 'mx1/aaaaaa', 'mx1/bbbbbb'],
    ],
    answers: {
      'POST /mail/quarantine/mx1/aaaaaa/release': {data: outcome('aaaaaa')},
      'POST /mail/quarantine/discard': {
        data: [
          {...outcome('aaaaaa'), state: 'discarded', already: true},
          {node_id: 'mx1', queue_id: 'bbbbbb', error: {code: 'not_found', detail: 'no such mail'}},
        ],
      },
    },
  },
  trace: {
    commands: [
      ['trace', 'find'],
      ['trace', 'show', 'mx1/aaaaaa'],
    ],
    answers: {
      'GET /mail/trace': {
        data: [
          {...mailEvent, event: 'released', message_id: null, key_id: 7, key_name: 'helpdesk'},
          {...mailEvent, event: 'refused', queue_id: null, subject: null, message_id: null, reply: '550 5.1.1 No such user'},
        ],
        headers: {'x-unreachable-nodes': 'mx3'},
      },
      'GET /mail/trace/mx1/aaaaaa': {
        data: [
          {...mailEvent, event: 'held', reason: 'phishing', server: null, reply: '250 2.0.0 Ok: queued as aaaaaa'},
          {...mailEvent, at: '2026-03-01T10:00:00.000Z', event: 'released', key_id: 7, key_name: 'helpdesk', took_ms: null},
        ],
      },
    },
  },
  webhook: {
    commands: [
      ['webhook', 'list'],
      ['webhook', 'show', '5'],
      ['webhook', 'add', 'https://hooks.example.com/mail', '--events', 'held,released', '--domain', 'example.com'],
      ['webhook', 'test', '5'],
      ['webhook', 'deliveries', '5'],
      ['webhook', 'replay', '5', '--since', '2026-03-01T09:00:00Z'],
      ['webhook', 'remove', '5', '--yes'],
    ],
    answers: {
      'GET /webhooks': {
        data: [
          webhook,
          {...webhook, id: 6, events: null, domain: null, disabled_at: webhook.created_at, disabled_because: 'it answered 410'},
        ],
      },
      'GET /webhooks/5': {data: webhookDetail, headers: {'x-unreachable-nodes': 'mx3'}},
      'POST /webhooks': {status: 201, data: {...webhook, secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='}},
      'POST /webhooks/5/test': {data: {node_id: 'mx1', status: 200, error: null, took_ms: 31}},
      'GET /webhooks/5/deliveries': {data: webhookDeliveries, headers: {'x-unreachable-nodes': 'mx3'}},
      'POST /webhooks/5/replay': {data: webhook},
      'DELETE /webhooks/5': {data: null},
    },
  },
  cluster: {
    commands: [
      ['cluster', 'status'],
      ['cluster', 'show', 'mx2'],
      ['cluster', 'drift'],
      ['cluster', 'token'],
      ['cluster', 'remove', 'mx3', '--yes'],
    ],
    answers: {
      'GET /cluster/status': {data: status},
      'GET /cluster/drift': {data: drift},
      'GET /cluster/nodes/mx2': {data: clusterNode},
      'POST /cluster/tokens': {status: 201, data: token},
      'DELETE /cluster/nodes/mx3': {data: null},
    },
  },
  audit: {
    commands: [['audit']],
    answers: {
      'GET /audit': {
        data: [
          auditEntry,
          {...auditEntry, seq: 40, key_id: null, key_name: null, remote_address: null},
          {...auditEntry, seq: 39, action: 'quarantine.release', target: 'mx1/5fJk2LmQ0a', detail: 'asked through mx2'},
        ],
      },
    },
  },
  api: {
    commands: [['api', 'GET', '/domains']],
    answers: {'GET /domains': {data: [domain]}},
  },
  empty: {
    commands: [
      ['domain', 'list'],
      ['quarantine', 'list'],
      ['cluster', 'drift'],
    ],
    answers: {
      'GET /domains': {data: []},
      'GET /mail/quarantine': {data: []},
      'GET /cluster/drift': {data: {...drift, nodes: [], records: [], repairs: []}},
    },
  },
  failure: {
    commands: [
      ['domain', 'get', '7'],
      ['domain', 'create', 'example.com', '--direction', 'inbound'],
      ['quarantine', 'list'],
      ['quarantine', 'lst'],
    ],
    answers: {
      'POST /domains': {
        status: 422,
        error: {
          code: 'validation_failed',
          detail: '2 fields are wrong',
          fields: [
            {path: 'backend_servers', detail: 'needs at least one host:port'},
            {path: 'quarantine_threshold', detail: 'must not be above reject_threshold (15)'},
          ],
        },
      },
      'GET /mail/quarantine': {status: 401, error: {code: 'key_revoked', detail: 'this key was revoked'}},
    },
  },
} satisfies Record<string, {commands: string[][]; answers: Record<string, Reply>}>;

type Run = (argv: string[], options?: FakeTerminalOptions) => Promise<{code: number; stdout: string; stderr: string}>;

/** Output that is cut or coloured for a terminal is shown in two widths, and in a pipe for the other formats. */
const sessions = async (run: Run, command: string[]): Promise<string> => {
  const shown: string[] = [];
  for (const columns of [undefined, 80, 40])
    shown.push(asSession({argv: command, columns, ran: await run(command, {...(columns && {columns})})}));
  for (const format of outputFormats.filter(name => name !== 'table')) {
    const argv = [...command, '-o', format];
    shown.push(asSession({argv, ran: await run(argv)}));
  }
  return shown.join('\n');
};

for (const [noun, {commands, answers}] of Object.entries(nouns))
  test(`${noun} is printed in every format as the snapshot has it`, async t => {
    const api = await startApi(t, answers);
    const texts: string[] = [];
    for (const command of commands) texts.push(await sessions(api.mfctl, command));
    await matchSnapshot(t, noun, texts.join('\n'));
  });

test('context is printed in every format as the snapshot has it', async t => {
  const {folder} = await startApi(t, {});
  const env = {XDG_CONFIG_HOME: folder};
  for (const name of ['mx1', 'mx2']) await runCli(['context', 'add', name, '--url', `https://${name}.example.com:8443`], {env});
  const run: Run = (argv, options) => runCli(argv, {...options, env});

  const texts = [await sessions(run, ['context', 'list']), await sessions(run, ['context', 'use', 'mx2'])];

  await matchSnapshot(t, 'context', texts.join('\n'));
});

const matchHelps = async (t: ExecutionContext, name: string, columns?: number): Promise<void> => {
  const width = columns ?? 100;
  const texts: string[] = [];
  for (const words of allCommands(mfctlCommands()).map(wordsOf)) {
    const argv = [...words, '--help'];
    const ran = await runCli(argv, {env: {XDG_CONFIG_HOME: '/nonexistent'}, ...(columns && {columns})});
    // A terminal breaks longer lines in the middle of words. Lines that begin with a blank are to be copied, or are folded by commander.
    t.deepEqual(
      ran.stdout.split('\n').filter(line => /^\S/.test(line) && line.length > width),
      [],
      argv.join(' '),
    );
    texts.push(asSession({argv, columns, ran}));
  }
  await matchSnapshot(t, name, texts.join('\n'));
};

test('the help of every command is as the snapshot has it, for a pipe', t => matchHelps(t, 'help'));

test('the help of every command is as the snapshot has it, on a terminal of 80 columns', t => matchHelps(t, 'help-80', 80));

test('the help of every command is as the snapshot has it, on a terminal of 40 columns', t => matchHelps(t, 'help-40', 40));

test('there is no snapshot of what is no longer there', async t => {
  const known = [...Object.keys(nouns), 'context', 'help', 'help-80', 'help-40'].map(name => `${name}.txt`);

  t.deepEqual(
    (await readdir(snapshotFolder)).filter(name => !known.includes(name)),
    [],
  );
});
