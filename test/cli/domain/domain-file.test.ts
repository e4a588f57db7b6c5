import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {readDomainFile} from '../../../cli/domain/domain-file.ts';
import {CliError} from '../../../cli/errors.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';

const read = async (text: string) => readDomainFile('-', createFakeTerminal({input: text}));

/** `line: what is wrong` for an invalid file. */
const faultsOf = async (text: string): Promise<string[]> => {
  try {
    await read(text);
    return [];
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'invalid_file') throw error;
    return error.fields.map(({path, detail}) => `${path.split(':').at(-1)}: ${detail}`);
  }
};

test('what a file says is read in the form that is stored', async t => {
  const {entries} = await read(`
domains:
  - name: BÜCHER.example.
    tenant_id: " acme "
    quarantine_threshold: -0
    filters:
      - {action: block, match: sender_domain, pattern: "@SPAM.example ", comment: " why "}
  - name: b.example
`);

  const filter = {action: 'block', match: 'sender_domain', header: null, pattern: 'spam.example', score: null, comment: 'why'};
  t.deepEqual(entries as unknown[], [
    {name: 'xn--bcher-kva.example', settings: {quarantine_threshold: 0, tenant_id: 'acme'}, filters: [filter]},
    {name: 'b.example', settings: {}, filters: undefined},
  ]);
});

test('a retention that says nothing is read as none, and one that is left out is not there', async t => {
  const {entries} = await read(`
domains:
  - {name: a.example, retention: {}}
  - {name: b.example, retention: {days: null, by_reason: {}}}
  - {name: c.example, retention: null}
  - {name: d.example, retention: {days: 14}}
  - {name: e.example}
`);

  const none = {retention: null};
  t.deepEqual(
    entries.map(({settings}) => settings),
    [none, none, none, {retention: {days: 14, by_reason: {}}}, {}],
  );
});

test('filters for all domains are a list of their own; without it, nothing is said of them', async t => {
  const rule = {action: 'block', match: 'sender', header: null, pattern: 'a@b.example', score: null, comment: null};

  const {allDomains} = await read('all_domains: {filters: [{action: block, match: sender, pattern: A@B.example}]}\ndomains: []');

  t.deepEqual(allDomains as unknown[], [rule]);
  t.deepEqual((await read('all_domains: {filters: []}\ndomains: []')).allDomains, []);
  t.is((await read('domains: []')).allDomains, undefined);
  t.deepEqual(
    await faultsOf(`all_domains:
  active: true
  filters:
    - action: block
      match: sender
      pattern: "*@x"
domains: []
`),
    [
      '2: all_domains: active is not known here; known are filters',
      '6: all_domains: filters.0.pattern must be one address; match sender_domain for all of a domain',
    ],
  );
  for (const text of ['all_domains:', 'all_domains: []', 'all_domains: {}'])
    t.deepEqual(
      await faultsOf(`${text}\ndomains: []`),
      ['1: all_domains must be a mapping with filters: a list, [] for none'],
      text,
    );
  t.regex((await faultsOf('all_domains: {filters: []}'))[0] ?? '', /domains is missing/);
});

test('all faults are reported at once, each with its line', async t => {
  const faults = await faultsOf(`domains:
  - name: a.example
    reject_treshold: 12
    active: yes
    filters:
      - action: allow
        match: sender
        pattern: "*@x"
      - nonsense
  - name: A.EXAMPLE.
    backend_servers: [x]
  - 5
  - nam: x
more: 1
`);

  t.deepEqual(
    faults.map(fault => fault.replace(/; known are .*/, '')),
    [
      '3: a.example: reject_treshold is not known here',
      '4: a.example: active must be true or false',
      '8: a.example: filters.0.pattern must be one address; match sender_domain for all of a domain',
      '9: a.example: filters.1 must be a mapping with action, match and pattern',
      '10: A.EXAMPLE.: name is there twice: a.example is on line 2 already',
      '11: A.EXAMPLE.: backend_servers.0 must be host:port with a port from 1 to 65535, IPv6 in brackets',
      '12: domains.2 must be a mapping with name',
      '13: domains.3: nam is not known here',
      '13: domains.3: name is missing',
      '14: more is not known here',
    ],
  );
});

test('syntax errors are reported with their line and column, and so are tags, several documents and invalid names', async t => {
  const wrong: [string, RegExp][] = [
    ['domains:\n  - name: a\n    name: b\n', /^3: Map keys must be unique/],
    ['domains: []\n---\ndomains: []\n', /^2: .*multiple documents/],
    ['domains:\n  - !secret x\n', /^2: Unresolved tag/],
    ['domains:\n  - name: *nobody\n', /^2: Unresolved alias/],
    ['domains:\n  - [a]: 1\n', /^2: a list or mapping cannot be a name/],
    ['domains: [\n', /^2: /],
    ['{"domains": [\n  {"name": "a.example"}}\n]}\n', /^2: .* \(column 24\)$/],
  ];

  for (const [text, fault] of wrong)
    t.true(
      (await faultsOf(text)).some(found => fault.test(found)),
      text,
    );
});

test('a file without domains is wrong: it may be one that could not be made', async t => {
  for (const text of ['', '# nothing\n', '{}', '[]', 'domains:\n', 'text'])
    t.is((await faultsOf(text)).length, 1, JSON.stringify(text));

  t.deepEqual((await read('domains: []')).entries, []);
});

test('anchors may be used, and a bomb of them is refused', async t => {
  const shared = await read(`
domains:
  - {name: a.example, backend_servers: &both [a.example:25, b.example:25]}
  - {name: b.example, backend_servers: *both}
`);
  const levels = Array.from(
    {length: 9},
    (_, at) =>
      `a${at}: &a${at} [${Array(10)
        .fill(at === 0 ? 'x' : `*a${at - 1}`)
        .join()}]`,
  );

  t.deepEqual(shared.entries[1]?.settings, {backend_servers: ['a.example:25', 'b.example:25']});
  t.regex((await faultsOf(levels.join('\n'))).join(), /more than 1000000 values with its aliases expanded/);
});

test('a wrong value behind an anchor is reported where it is written', async t => {
  t.deepEqual(
    await faultsOf('domains:\n  - &one\n    name: a.example\n    active: 5\n  - *one\n'),
    [
      '4: a.example: active must be true or false',
      '4: a.example: active must be true or false',
      '3: a.example: name is there twice: a.example is on line 3 already',
    ].toSorted((a, b) => Number(a.split(':', 1)) - Number(b.split(':', 1))),
  );
});

test('a file that is too large is not read', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'mfctl-large-'));
  t.teardown(() => rm(folder, {recursive: true}));
  const file = join(folder, 'domains.yaml');
  await writeFile(file, `domains: []\n#${'x'.repeat(16 * 1024 * 1024)}`);

  await t.throwsAsync(readDomainFile(file, createFakeTerminal()), {message: /larger than 16 MiB/});
});

test('a name in quotes of an editor, or of another type, is told with its line', async t => {
  t.deepEqual(await faultsOf('domains:\n  - name: \u201cexample.org\u201d\n  - name: [a.example]\n'), [
    '2: \u201cexample.org\u201d: name has the quotation mark \u201c (U+201C); give the name without it',
    '3: domains.1: name must be a text',
  ]);
});
