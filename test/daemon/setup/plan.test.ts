import test from 'ava';
import type {MailSystem} from '../../../daemon/setup/mail-system.ts';
import {planSetup, type Wanted} from '../../../daemon/setup/plan.ts';
import type {PostfixService} from '../../../daemon/setup/postfix-tool.ts';

const service = (name: string, program: string, more: Partial<PostfixService> = {}): PostfixService => ({
  name,
  program,
  isChrooted: false,
  overrides: new Map(),
  ...more,
});

const system = (more: Partial<MailSystem> = {}, explicit: Record<string, string> = {}): MailSystem => ({
  configDir: '/etc/postfix',
  queueDir: '/var/spool/postfix',
  gid: 110,
  defaultRelayDomains: '',
  restrictions: 'permit_mynetworks, reject_unauth_destination',
  destinations: '',
  milterProtocol: '6',
  services: [service('smtp/inet', 'smtpd', {isChrooted: true}), service('rewrite/unix', 'trivial-rewrite', {isChrooted: true})],
  rspamd: {optionsFile: '/etc/rspamd/local.d/options.inc', options: 'ours'},
  helperSocket: '/run/mfd-postfix.sock',
  log: {value: '/var/log/mail.log', advice: undefined},
  ...more,
  explicit: new Map(Object.entries(explicit)),
});

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  nodeText: '',
  uid: 109,
  milterListen: undefined,
  socketmapListen: undefined,
  isScannerSet: false,
  hasRecipients: false,
  ...more,
});

const main = (...args: Parameters<typeof planSetup>) =>
  Object.fromEntries(planSetup(...args).main.map(({name, after}) => [name, after]));

test('a fresh Postfix gets four settings, a folder for the sockets, and mfd.yaml its section', t => {
  const plan = planSetup(system(), wanted(), undefined);

  t.deepEqual(Object.fromEntries(plan.main.map(({name, after}) => [name, after])), {
    enable_long_queue_ids: 'yes',
    smtpd_milters: '{ unix:mfd/milter.sock, default_action=tempfail }',
    relay_domains: 'socketmap:unix:mfd/socketmap.sock:relay_domains',
    transport_maps: 'socketmap:unix:mfd/socketmap.sock:transport_maps',
  });
  t.deepEqual(plan.master, []);
  t.deepEqual(plan.folder, {path: '/var/spool/postfix/mfd', uid: 109, gid: 110});
  t.deepEqual(plan.node, [
    {key: 'postfix.config_dir', value: '/etc/postfix'},
    {key: 'postfix.milter_listen', value: 'unix:/var/spool/postfix/mfd/milter.sock'},
    {key: 'postfix.socketmap_listen', value: 'unix:/var/spool/postfix/mfd/socketmap.sock'},
    {key: 'postfix.helper_socket', value: '/run/mfd-postfix.sock'},
    {key: 'postfix.log_file', value: '/var/log/mail.log'},
    {key: 'scanner.type', value: 'rspamd'},
  ]);
});

test('what is there already stays first, and what is ours already is not added again', t => {
  const now = {
    enable_long_queue_ids: 'yes',
    smtpd_milters: '{unix:mfd/milter.sock, default_action=accept} inet:localhost:8891',
    relay_domains: 'example.org $mydestination',
    transport_maps: 'hash:/etc/postfix/transport,',
  };

  t.deepEqual(main(system({}, now), wanted(), undefined), {
    relay_domains: 'example.org $mydestination, socketmap:unix:mfd/socketmap.sock:relay_domains',
    transport_maps: 'hash:/etc/postfix/transport, socketmap:unix:mfd/socketmap.sock:transport_maps',
  });
});

test('what Postfix has by default in compatibility mode is kept', t => {
  const old = system({defaultRelayDomains: `\${{$compatibility_level} <level {2} ? {$mydestination} : {}}`});

  t.is(
    main(old, wanted(), undefined).relay_domains,
    `\${{$compatibility_level} <level {2} ? {$mydestination} : {}}, socketmap:unix:mfd/socketmap.sock:relay_domains`,
  );
});

test('Postfix is told where the node listens, over TCP too', t => {
  const listens = {milterListen: '0.0.0.0:8891', socketmapListen: '[::1]:8892'};
  const plan = planSetup(system(), wanted(listens), undefined);

  t.like(Object.fromEntries(plan.main.map(({name, after}) => [name, after])), {
    smtpd_milters: '{ inet:127.0.0.1:8891, default_action=tempfail }',
    relay_domains: 'socketmap:inet:[::1]:8892:relay_domains',
  });
  t.is(plan.folder, undefined);
});

test('an entry of an earlier time is replaced where it stands', t => {
  const entry = 'socketmap:inet:127.0.0.1:8892:transport_maps';
  const setting = {name: 'transport_maps', before: 'hash:/x', after: `hash:/x, ${entry}`, entry};
  const file = {path: '/etc/postfix/main.cf', backup: '', hash: null, settings: [setting]};
  const record = {data: '/d', main: file, master: null, node: null, created: [], folder: null};

  t.is(
    main(system({}, {transport_maps: `hash:/x, ${entry}, hash:/y`}), wanted(), record).transport_maps,
    'hash:/x, socketmap:unix:mfd/socketmap.sock:transport_maps, hash:/y',
  );
});

test('a socket that a chrooted program cannot reach is refused, one that all can reach is not', t => {
  const elsewhere = wanted({milterListen: 'unix:/run/mfd/milter.sock'});

  t.throws(() => planSetup(system(), elsewhere, undefined), {
    message: /postfix\.milter_listen: .*chrooted in \/var\/spool\/postfix/,
  });
  t.is(
    main(system({services: []}), elsewhere, undefined).smtpd_milters,
    '{ unix:/run/mfd/milter.sock, default_action=tempfail }',
  );
  t.throws(() => planSetup(system(), wanted({socketmapListen: '127.0.0.1:0'}), undefined), {message: /port/});
});

test('recipients of other relay domains are not refused by accident', t => {
  const hasRecipients = wanted({hasRecipients: true});
  const others = {relay_domains: 'example.org'};

  t.throws(() => planSetup(system({}, others), hasRecipients, undefined), {message: /example\.org/});
  t.is(
    main(system({}, {...others, relay_recipient_maps: 'hash:/r'}), hasRecipients, undefined).relay_recipient_maps,
    'hash:/r, socketmap:unix:mfd/socketmap.sock:relay_recipient_maps',
  );
  t.is(main(system(), hasRecipients, undefined).relay_recipient_maps, 'socketmap:unix:mfd/socketmap.sock:relay_recipient_maps');
});

test('mail that comes back from a content filter is not judged twice', t => {
  const services = [
    service('smtp/inet', 'smtpd', {overrides: new Map([['content_filter', 'amavis:x']])}),
    service('10025/inet', 'smtpd', {overrides: new Map([['content_filter', '']])}),
    service('10026/inet', 'smtpd', {
      overrides: new Map([
        ['content_filter', ''],
        ['receive_override_options', 'no_milters'],
      ]),
    }),
    service('10027/inet', 'smtpd', {
      overrides: new Map([
        ['content_filter', ''],
        ['smtpd_milters', 'inet:x:1'],
      ]),
    }),
  ];

  t.deepEqual(planSetup(system({services}), wanted(), undefined).master, [
    {name: '10025/inet/smtpd_milters', before: null, after: '', entry: null},
  ]);
  t.like(planSetup(system({services}, {smtpd_milters: 'inet:a:1 inet:b:2'}), wanted(), undefined).master, [
    {after: 'inet:a:1,inet:b:2'},
  ]);
  const inBraces = planSetup(system({services}, {smtpd_milters: '{ inet:a:1, connect_timeout=1s }'}), wanted(), undefined);
  t.deepEqual(inBraces.master, []);
  t.regex(inBraces.notes.join('\n'), /10025\/inet takes mail back/);
});

test('a log that the administrator has set stays, and where none was found it is asked for', t => {
  const log = {value: 'journal', advice: 'mfd may not read the journal yet'};
  const own = 'postfix:\n  log_file: /var/log/mine\n';
  const planned = (nodeText: string, found: MailSystem['log']) => planSetup(system({log: found}), wanted({nodeText}), undefined);
  const keys = ({node}: ReturnType<typeof planned>) => node.map(({key}) => key);

  t.true(planned('', log).notes.includes(log.advice));
  t.true(planned('postfix:\n  log_file: journal\n', log).notes.includes(log.advice));
  t.false(planned(own, log).notes.includes(log.advice));
  t.false(keys(planned(own, log)).includes('postfix.log_file'));
  const unknown = planned('', {value: undefined, advice: undefined});
  t.false(keys(unknown).includes('postfix.log_file'));
  t.regex(unknown.notes.join('\n'), /set postfix\.log_file in mfd\.yaml/);
});

test('what an administrator should know is said', t => {
  const notes = (more: Partial<MailSystem>, explicit: Record<string, string> = {}) =>
    planSetup(system(more, explicit), wanted(), undefined).notes.join('\n');

  t.regex(notes({restrictions: 'permit_mynetworks'}), /WARNING: .*relay for anybody/);
  t.notRegex(notes({}), /relay for anybody/);
  t.regex(notes({}, {smtpd_milters: 'inet:localhost:11332'}), /scanned twice/);
  t.regex(notes({milterProtocol: '2'}), /version 6/);
  t.regex(notes({rspamd: undefined}), /built-in scanner/);
  t.regex(notes({helperSocket: undefined}), /sudoers/);
  t.regex(
    notes({services: [service('25/inet', 'smtpd', {overrides: new Map([['smtpd_milters', '']])})]}),
    /25\/inet has smtpd_milters of its own/,
  );
});
