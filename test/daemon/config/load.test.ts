import {chmod, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {initialConfig} from '../../../daemon/config/initial.ts';
import {ConfigError, leavesOf, loadConfig} from '../../../daemon/config/load.ts';
import {configSchema} from '../../../daemon/config/schema.ts';
import {testFolder} from '../../helpers/store.ts';

const load = async (t: ExecutionContext, yaml: string, environment: Record<string, string> = {}) => {
  const file = join(await testFolder(t), 'mfd.yaml');
  await writeFile(file, yaml);
  return loadConfig(file, environment);
};

/** The error message of an invalid configuration, with the file's name in place of its path. */
const faultIn = async (t: ExecutionContext, yaml: string, environment: Record<string, string> = {}): Promise<string> => {
  const error = await t.throwsAsync(load(t, yaml, environment), {instanceOf: ConfigError}, yaml);
  t.false(error?.message.includes('\n'), 'more than one line');
  return error?.message.replace(/^.*mfd\.yaml/, 'mfd.yaml') ?? '';
};

const defaults = async (t: ExecutionContext) => (await load(t, '')).config;

test('an empty file, and one of comments only, is all defaults', async t => {
  for (const yaml of ['', '\n', '# nothing\n', '---\n', 'null\n']) {
    const {config, unknownVariables} = await load(t, yaml);

    t.is(config.api.listen, '0.0.0.0:8443');
    t.is(config.cluster.listen, '0.0.0.0:8444');
    t.is(config.metrics.listen, '127.0.0.1:9090');
    t.is(config.smtp.listen, '127.0.0.1:2525');
    t.deepEqual(config.smtp.trusted_networks, ['127.0.0.0/8', '::1/128']);
    t.is(config.smtp.backend_networks, undefined);
    t.is(config.retention.days, 30);
    t.is(config.scanner.on_failure, 'tempfail');
    t.like(config.license, {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'});
    t.deepEqual(unknownVariables, []);
  }
});

test('a section of which every line is a comment is an empty one', async t => {
  const {config} = await load(t, 'smtp:\n  # listen: 127.0.0.1:25\nretention:\n  by_reason:\n    # spam: 3\n');

  t.deepEqual(config, await defaults(t));
});

test('the file of a new node can be read, and says what was asked for', async t => {
  const settings = {
    fqdn: 'mx1.example.com',
    apiListen: '[::1]:1',
    clusterListen: '127.0.0.1:2',
    metricsListen: '127.0.0.1:3',
    smtpListen: '0.0.0.0:25',
  };

  const {config} = await load(t, initialConfig(settings));

  t.is(config.fqdn, 'mx1.example.com');
  t.is(config.api.listen, '[::1]:1');
  t.is(config.smtp.listen, '0.0.0.0:25');
});

test('every line of the new node’s file that is commented out can be taken in', async t => {
  const text = initialConfig({fqdn: 'a.test', apiListen: 'a:1', clusterListen: 'a:2', metricsListen: 'a:3', smtpListen: 'a:4'});
  const withKeys = text.replace(/^( *)# ((?: *)[a-z_]+:.*)$/gm, '$1$2');

  const {config} = await load(t, withKeys);

  t.is(config.scanner.type, 'rspamd');
  t.is(config.retention.by_reason.phishing, 60);
  t.is(config.smtp.smarthost, 'smtp.example.net:587');
  t.is(config.api.key_file, '/etc/ssl/mfd/privkey.pem');
});

const wrong: Record<string, [yaml: string, fault: string | RegExp]> = {
  'an unknown key': ['api:\n  listen: a:1\nsmpt: {}\n', 'mfd.yaml:3: smpt is not a known key; correct or remove it'],
  'an unknown key in a section': ['smtp:\n\n  lisen: a:1\n', 'mfd.yaml:3: smtp.lisen is not a known key; correct or remove it'],
  'an unknown key with a dot in it': [
    'fqdn: a\n"smtp.listen": a:1\n',
    'mfd.yaml:2: smtp.listen is not a known key; correct or remove it',
  ],
  'an unknown key without a value': ['smtp:\n  lisen:\n', 'mfd.yaml:2: smtp.lisen is not a known key; correct or remove it'],
  'an unknown reason': [
    'retention:\n  by_reason:\n    virus: 3\n',
    'mfd.yaml:3: retention.by_reason.virus is not a known key; correct or remove it',
  ],
  'text for a number': ['smtp:\n  max_connections: many\n', 'mfd.yaml:2: smtp.max_connections must be a whole number'],
  'a fraction for a whole number': ['smtp:\n  max_connections: 1.5\n', 'mfd.yaml:2: smtp.max_connections must be a whole number'],
  'more recipients than a mail may have': [
    'smtp:\n  max_recipients: 10001\n',
    'mfd.yaml:2: smtp.max_recipients must be at most 10000',
  ],
  'nought of what there must be one': ['smtp:\n  max_recipients: 0\n', 'mfd.yaml:2: smtp.max_recipients must be at least 1'],
  'a word for true': ['smtp:\n  reverse_lookup: maybe\n', 'mfd.yaml:2: smtp.reverse_lookup must be true or false'],
  'a word that is none of the choices': ['scanner:\n  type: spamd\n', 'mfd.yaml:2: scanner.type must be builtin or rspamd'],
  'a log that is neither a path nor the journal': [
    'postfix:\n  log_file: mail.log\n',
    'mfd.yaml:2: postfix.log_file must be an absolute path, or journal',
  ],
  'a section that is text': ['smtp: yes please\n', 'mfd.yaml:1: smtp must be a mapping of keys to values'],
  'a section that is a list': ['fqdn: a\nsmtp:\n  - listen\n', 'mfd.yaml:2: smtp must be a mapping of keys to values'],
  'a port out of range': [
    'smtp:\n  listen: 127.0.0.1:70000\n',
    /^mfd\.yaml:2: smtp\.listen must be HOST:PORT with a port up to 65535,/,
  ],
  'a listener without a port': ['api:\n  listen: localhost\n', /^mfd\.yaml:2: api\.listen must be HOST:PORT/],
  'a network that is none': [
    'smtp:\n  trusted_networks:\n    - 10.0.0.0/8\n    - 300.0.0.0/8\n',
    'mfd.yaml:2: smtp.trusted_networks.1 must be an address or a network, such as 192.0.2.1 or 2001:db8::/32',
  ],
  'a network of backends that is a host name': [
    'smtp:\n  backend_networks: [mail.example.com]\n',
    'mfd.yaml:2: smtp.backend_networks.0 must be an address or a network, such as 192.0.2.1 or 2001:db8::/32',
  ],
  'one network that is no list': [
    'smtp:\n  trusted_networks: 10.0.0.0/8\n',
    /^mfd\.yaml:2: smtp\.trusted_networks must be an array/,
  ],
  'a certificate without its key': [
    'api:\n  cert_file: a.pem\n',
    'mfd.yaml:2: api.cert_file is useless without api.key_file; give both or neither',
  ],
  'a password without a user': [
    'smtp:\n  smarthost: a:1\n  smarthost_password_file: a\n',
    'mfd.yaml:3: smtp.smarthost_password_file is useless without smtp.smarthost_username; give both or neither',
  ],
  'a size that is too small': ['smtp:\n  max_size: 1\n', /^mfd\.yaml:2: smtp\.max_size must be a size of at least 1024 bytes/],
  'a size with an unknown unit': ['smtp:\n  max_size: 50T\n', /^mfd\.yaml:2: smtp\.max_size must be a size/],
  'a size that is a list': ['smtp:\n  max_size: [1]\n', /^mfd\.yaml:2: smtp\.max_size must be a size/],
  'a retention of nothing': ['retention:\n  days: 0\n', 'mfd.yaml:2: retention.days must be above 0'],
  'a licence that ends at no time': ['license:\n  expires_at: tomorrow\n', /^mfd\.yaml:2: license\.expires_at /],
  'a file that is not there': [
    'scanner:\n  rspamd_password_file: /nowhere/secret\n',
    'mfd.yaml:2: scanner.rspamd_password_file: /nowhere/secret does not exist',
  ],
  'broken YAML': ['smtp:\n  listen: "127.0.0.1:25\n', /^mfd\.yaml:\d: /],
  'a tab for indentation': ['smtp:\n\tlisten: a:1\n', /^mfd\.yaml:2: /],
  'a key that comes twice': ['fqdn: a\nsmtp: {}\nfqdn: b\n', 'mfd.yaml:3: fqdn is given twice'],
  'an alias of nothing': ['fqdn: *nothing\n', /^mfd\.yaml(:1)?: .*nothing/],
  'an address for reports without a domain': [
    'dmarc:\n  receive_at: [dmarc@example.org, dmarc]\n',
    'mfd.yaml:2: dmarc.receive_at.1 must be a mail address',
  ],
  'a list': ['- fqdn\n', 'mfd.yaml: the file must be a mapping of keys to values'],
  'a word': ['hello\n', 'mfd.yaml: the file must be a mapping of keys to values'],
  'two documents': ['fqdn: a\n---\nfqdn: b\n', /^mfd\.yaml:\d: /],
};
for (const [what, [yaml, fault]] of Object.entries(wrong))
  test(`${what} is named, with its line`, async t => {
    const said = await faultIn(t, yaml);

    if (typeof fault === 'string') t.is(said, fault);
    else t.regex(said, fault);
  });

test('a file that is not there, or cannot be read, is named', async t => {
  const folder = await testFolder(t);

  await t.throwsAsync(loadConfig(join(folder, 'mfd.yaml'), {}), {
    instanceOf: ConfigError,
    message: `${folder}/mfd.yaml does not exist; make a node there with mfd init or mfd join first, or correct --data`,
  });
  await t.throwsAsync(loadConfig(folder, {}), {instanceOf: ConfigError, message: `${folder} cannot be read (EISDIR)`});
});

test('a variable wins over the file: text, numbers, truth, lists, sizes, and keys two sections down', async t => {
  const {config, unknownVariables} = await load(t, 'smtp:\n  listen: a:1\n  max_connections: 5\n  max_recipients: 6\n', {
    MFD_FQDN: 'mx9.example.com',
    MFD_SMTP_LISTEN: '127.0.0.1:26',
    MFD_SMTP_MAX_CONNECTIONS: '7',
    MFD_SMTP_REVERSE_LOOKUP: 'false',
    MFD_SMTP_TRUSTED_NETWORKS: '10.0.0.0/8, 192.0.2.1',
    MFD_SMTP_BACKEND_NETWORKS: '10.1.0.0/16,2001:db8::/32',
    MFD_SMTP_MAX_SIZE: '2M',
    MFD_RETENTION_DAYS: '0.5',
    MFD_RETENTION_BY_REASON_PHISHING: '90',
    PATH: '/bin',
  });

  t.is(config.fqdn, 'mx9.example.com');
  t.like(config.smtp, {
    listen: '127.0.0.1:26',
    max_connections: 7,
    max_recipients: 6,
    reverse_lookup: false,
    max_size: 2 * 1024 * 1024,
  });
  t.deepEqual(config.smtp.trusted_networks, ['10.0.0.0/8', '192.0.2.1']);
  t.deepEqual(config.smtp.backend_networks, ['10.1.0.0/16', '2001:db8::/32']);
  t.is(config.retention.days, 0.5);
  t.is(config.retention.by_reason.phishing, 90);
  t.deepEqual(unknownVariables, []);
});

test('every key has a variable, and a variable that names none is reported', async t => {
  const environment = Object.fromEntries(
    leavesOf(configSchema).map(({path}) => [`MFD_${path.join('_').toUpperCase()}`, undefined as unknown as string]),
  );
  const {unknownVariables} = await load(t, '', {...environment, MFD_SMPT_LISTEN: 'a:1', MFDX: 'b'});

  t.true(Object.keys(environment).length > 30);
  t.deepEqual(unknownVariables, ['MFD_SMPT_LISTEN']);
});

const wrongVariables: Record<string, string> = {
  MFD_SMTP_LISTEN: 'nowhere',
  MFD_SMTP_MAX_CONNECTIONS: 'many',
  MFD_SMTP_REVERSE_LOOKUP: 'yes',
  MFD_SMTP_TRUSTED_NETWORKS: '10.0.0.0/8,300.0.0.0/8',
  MFD_SMTP_MAX_SIZE: '50T',
  MFD_SCANNER_TYPE: '',
  MFD_LOG_LEVEL: 'loud',
  MFD_RETENTION_BY_REASON_SPAM: '-1',
  MFD_API_CERT_FILE: 'cert.pem',
};
for (const [variable, value] of Object.entries(wrongVariables))
  test(`a bad value names the variable it came from: ${variable}=${value}`, async t => {
    t.regex(
      await faultIn(t, 'smtp:\n  max_recipients: 5\n', {[variable]: value}),
      new RegExp(`^${variable}: [a-z_.0-9]+ (must|is) `),
    );
  });

test('a variable does not cover up a file that is no mapping', async t => {
  t.is(await faultIn(t, '- a\n', {MFD_LOG_LEVEL: 'debug'}), 'mfd.yaml: the file must be a mapping of keys to values');
  t.is(await faultIn(t, 'smtp: hello\n', {MFD_SMTP_LISTEN: 'a:1'}), 'mfd.yaml:1: smtp must be a mapping of keys to values');
});

test('sizes are bytes, or have a binary unit', async t => {
  const sizeOf = async (text: string) => (await load(t, `smtp:\n  max_size: ${text}\n`)).config.smtp.max_size;

  t.deepEqual(await Promise.all(['4096', '64K', '64k', '50M', '1G', '"2048"'].map(sizeOf)), [
    4096,
    65_536,
    65_536,
    50 * 1024 ** 2,
    1024 ** 3,
    2048,
  ]);
});

test('a secret is read from its file, without the line end', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, 'hunter2 with spaces \n');

  const worker = await load(t, `scanner:\n  rspamd_password_file: ${file}\n`);
  const controller = await load(t, `scanner:\n  rspamd_controller_password_file: ${file}\n`);

  t.is(worker.rspamdPassword, 'hunter2 with spaces');
  t.is(worker.smarthostPassword, undefined);
  t.is(controller.rspamdControllerPassword, 'hunter2 with spaces');
  t.is(controller.rspamdPassword, undefined);
});

test('a secret whose file is missing is named by its key, and a secret is in no error', async t => {
  const folder = await testFolder(t);
  const missing = join(folder, 'missing');
  const present = join(folder, 'present');
  await writeFile(present, 'hunter2');
  await chmod(present, 0o600);

  const said = await faultIn(t, `scanner:\n  rspamd_password_file: ${missing}\n`);
  const other = await faultIn(t, `smtp:\n  smarthost_username: x\n  smarthost_password_file: ${present}\n  max_recipients: x\n`);

  t.is(said, `mfd.yaml:2: scanner.rspamd_password_file: ${missing} does not exist`);
  t.notRegex(other, /hunter2/);
});

test('a password file without a password is refused, by its key', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, '\n');

  for (const [section, key] of [
    ['smtp:\n  smarthost_username: x', 'smtp.smarthost_password_file'],
    ['scanner:\n  on_failure: pass', 'scanner.rspamd_password_file'],
    ['scanner:\n  on_failure: pass', 'scanner.rspamd_controller_password_file'],
    ['store:\n  url: postgres://a@b/c', 'store.password_file'],
  ] as const)
    t.is(
      await faultIn(t, `${section}\n  ${key.split('.')[1]}: ${file}\n`),
      `mfd.yaml:3: ${key}: ${file} is empty; write the password into it, or leave ${key} out`,
    );
});

test('a key called __proto__ or constructor is as unknown as any other', async t => {
  t.regex(await faultIn(t, 'constructor: 1\n'), /constructor is not a known key/);
  t.regex(await faultIn(t, '__proto__: {listen: 1}\n'), /__proto__ is not a known key/);
});
