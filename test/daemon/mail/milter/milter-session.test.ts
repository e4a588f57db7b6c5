import test from 'ava';
import {type MilterCommand, MilterError, type MilterReply} from '../../../../daemon/mail/milter/milter-codec.ts';
import type {JudgedMail} from '../../../../daemon/mail/milter/milter-mail.ts';
import {createMilterSession, type MilterSession, type SessionAction} from '../../../../daemon/mail/milter/milter-session.ts';
import {claim} from '../../../helpers/gateway.ts';
import {offered} from '../../../helpers/milter.ts';

const connect: MilterCommand = {kind: 'connect', hostname: 'mx.example.net', family: '4', port: 25, address: '192.0.2.5'};

interface Opening {
  offer?: Partial<typeof offered>;
  client?: Partial<typeof connect>;
  isTrusted?: boolean;
  canTakeMail?: () => {code: number; text: string} | undefined;
}

const open = ({offer, client, isTrusted = false, canTakeMail = () => undefined}: Opening = {}): MilterSession => {
  const session = createMilterSession({isTrusted: () => isTrusted, intake: {claim, canTakeMail}, refusals: {record() {}}});
  session.receive({kind: 'negotiate', ...offered, ...offer});
  session.receive({...connect, ...client} as MilterCommand);
  session.receive({kind: 'helo', name: 'mx.example.net'});
  return session;
};

const macros = (stage: string, ...pairs: [string, string][]): MilterCommand => ({kind: 'macros', stage, macros: new Map(pairs)});
const mail = (address = '<ada@example.net>', ...parameters: string[]): MilterCommand => ({kind: 'mail', address, parameters});
const rcpt = (address: string): MilterCommand => ({kind: 'rcpt', address, parameters: []});
const header = (name: string, value: string): MilterCommand => ({kind: 'header', name, value});
const body = (text: string): MilterCommand => ({kind: 'body', chunk: Buffer.from(text)});
const data: MilterCommand = {kind: 'data'};
const end: MilterCommand = {kind: 'end-of-body', chunk: Buffer.alloc(0)};

const say = (session: MilterSession, ...commands: MilterCommand[]): SessionAction[] =>
  commands.flatMap(command => session.receive(command));

const repliesIn = (actions: SessionAction[]): MilterReply[] =>
  actions.flatMap(action => (action.kind === 'answer' ? action.replies : []));
const bytesIn = (actions: SessionAction[]): string =>
  actions.map(action => (action.kind === 'keep' ? action.bytes.toString('latin1') : '')).join('');
const judgedIn = (actions: SessionAction[]): JudgedMail => {
  const judge = actions.find(action => action.kind === 'judge');
  if (judge?.kind !== 'judge') throw new Error(`nothing to judge: ${JSON.stringify(actions)}`);
  return judge.mail;
};
/** The answers to recipients: `continue`, or the code of the refusal. */
const answersTo = (session: MilterSession, ...recipients: string[]): (string | number)[] =>
  recipients.flatMap(address =>
    repliesIn(say(session, rcpt(address))).map(reply => (reply.kind === 'reply' ? reply.code : reply.kind)),
  );

const goOn: SessionAction = {kind: 'answer', replies: [{kind: 'continue'}]};

test('a client with IPv4 is one, also where its address is written as IPv6', t => {
  for (const address of ['IPv6:::ffff:192.0.2.5', '::ffff:192.0.2.5']) {
    const session = open({client: {family: '6', address}});
    say(session, mail(), rcpt('<ben@one.test>'), data);

    t.is(judgedIn(say(session, end)).client.ip, '192.0.2.5');
  }
});

test('only what decides something is answered, where the peer offers it', t => {
  const session = open();

  t.deepEqual(say(session, mail()), []);
  t.deepEqual(say(session, rcpt('<ben@one.test>')), [goOn]);
  t.deepEqual(say(session, data), [goOn]);
  t.deepEqual(repliesIn(say(session, header('Subject', ' hi'), body('text\r\n'), end)), []);
});

test('the negotiation asks for what is needed and takes only what is offered', t => {
  const negotiate = (offer: Partial<typeof offered>) =>
    repliesIn(
      createMilterSession({
        isTrusted: () => false,
        intake: {claim, canTakeMail: () => undefined},
        refusals: {record() {}},
      }).receive({
        kind: 'negotiate',
        ...offered,
        ...offer,
      }),
    )[0];

  t.like(negotiate({}), {kind: 'negotiate', version: 6, actions: 0x131, protocol: 0x18_71c0});
  t.like(negotiate({version: 7}), {version: 6});
  t.deepEqual(negotiate({version: 2, actions: 0x3f, protocol: 0x7f}), {
    kind: 'negotiate',
    version: 2,
    actions: 0x31,
    protocol: 0x40,
    macros: [],
  });
  t.throws(() => negotiate({version: 1}), {instanceOf: MilterError});
  for (const actions of [0, 0x1f, 0x2f & ~0x10, 0x3e]) t.throws(() => negotiate({actions}), {instanceOf: MilterError});
});

test('an old peer gets an answer to every command', t => {
  const session = createMilterSession({
    isTrusted: () => false,
    intake: {claim, canTakeMail: () => undefined},
    refusals: {record() {}},
  });
  session.receive({kind: 'negotiate', version: 2, actions: 0x3f, protocol: 0x7f});
  const dialogue = [connect, {kind: 'helo', name: 'x'} as const, mail(), rcpt('<ben@one.test>'), header('A', '1'), body('x')];

  for (const command of dialogue) t.deepEqual(repliesIn(session.receive(command)), [{kind: 'continue'}], command.kind);
});

test('the bytes of a mail are those that Postfix has', t => {
  const session = open();
  const actions = say(
    session,
    mail(),
    rcpt('<ben@one.test>'),
    data,
    header('Subject', ' hi\n  there'),
    header('X-Two', 'no space'),
    header('X-Empty', ''),
    body('a\r\n'),
    body('.b'),
    {kind: 'end-of-body', chunk: Buffer.from('c\r\n')},
  );

  t.is(bytesIn(actions), 'Subject: hi\r\n  there\r\nX-Two:no space\r\nX-Empty:\r\n\r\na\r\n.bc\r\n');
});

test('a mail of a header alone, and one of a body alone, have their blank line', t => {
  const of = (...content: MilterCommand[]) => bytesIn(say(open(), mail(), rcpt('<ben@one.test>'), data, ...content, end));

  t.is(of(header('A', ' 1')), 'A: 1\r\n\r\n');
  t.is(of(body('x\r\n')), '\r\nx\r\n');
  t.is(of(), '\r\n');
  t.is(of(header('A', ' 1'), {kind: 'end-of-header'}, body('x\r\n')), 'A: 1\r\n\r\nx\r\n');
});

test('where header values come without their first space it is put there, and left to the peer in what is added', t => {
  const session = open({offer: {protocol: offered.protocol & ~0x10_0000}});
  const actions = say(session, mail(), rcpt('<ben@one.test>'), data, header('A', '1'), end);
  const added: MilterReply[] = [{kind: 'add-header', name: 'X-A', value: '1'}, {kind: 'accept'}];

  t.is(bytesIn(actions), 'A: 1\r\n\r\n');
  t.deepEqual(repliesIn(session.judged(judgedIn(actions), added)), added);
});

test('added fields get their first space, removed ones none', t => {
  const session = open();
  const mailJudged = judgedIn(say(session, mail(), rcpt('<ben@one.test>'), data, end));

  const replies = repliesIn(
    session.judged(mailJudged, [
      {kind: 'add-header', name: 'X-A', value: '1'},
      {kind: 'insert-header', index: 0, name: 'X-B', value: '2'},
      {kind: 'change-header', index: 1, name: 'X-C', value: ''},
    ]),
  );

  t.deepEqual(
    replies.map(reply => ('value' in reply ? reply.value : '')),
    [' 1', ' 2', ''],
  );
});

test('what is judged has envelope, client and queue id', t => {
  const session = open();
  say(session, macros('H', ['{tls_version}', 'TLSv1.3']), {kind: 'helo', name: 'laptop'});
  say(session, macros('M', ['{mail_addr}', 'ada@example.net']), mail('<ada@EXAMPLE.net>', 'BODY=8BITMIME', 'smtputf8'));
  say(session, rcpt('<Ben@ONE.test>'), rcpt('<"x y"@one.test>'), rcpt('<Ben@one.test>'));
  say(session, macros('T', ['i', '4jX9jr51JCzJFFG']), data);

  const {queueId, client, envelope, ownership} = judgedIn(say(session, end));

  t.is(queueId, '4jX9jr51JCzJFFG');
  t.deepEqual(client, {
    ip: '192.0.2.5',
    hostname: 'mx.example.net',
    helo: 'laptop',
    isTrusted: false,
    protocol: 'UTF8SMTPS',
    user: null,
  });
  t.deepEqual(envelope, {
    sender: 'ada@example.net',
    recipients: ['Ben@one.test', '"x y"@one.test'],
    isUtf8: true,
    isEightBit: true,
  });
  t.like(ownership, {direction: 'inbound', domain: {id: 1}});
});

test('addresses are those that Postfix has rewritten', t => {
  const session = open();
  say(session, macros('M', ['{mail_addr}', 'root@mx.test']), mail('<root>'));
  say(session, macros('R', ['{rcpt_addr}', 'ben@one.test']), rcpt('<ben%one.test@mx.test>'));

  t.like(judgedIn(say(session, data, end)).envelope, {sender: 'root@mx.test', recipients: ['ben@one.test']});
});

test('without such a macro an address is what the client said, without a source route', t => {
  const session = open();

  t.deepEqual(say(session, mail('<>'), rcpt('<@a.test,@b.test:ben@one.test>')), [goOn]);
  t.like(judgedIn(say(session, data, end)).envelope, {sender: '', recipients: ['ben@one.test']});
});

test('macros hold for the next command of their stage only', t => {
  const session = open();
  say(session, mail(), macros('R', ['{rcpt_addr}', 'ben@one.test']), rcpt('<ben@one.test>'), rcpt('<eve@one.test>'));
  say(session, macros('T', ['i', 'First1111']), data);
  const first = judgedIn(say(session, end));
  session.judged(first, [{kind: 'accept'}]);
  say(session, macros('M', ['{auth_authen}', 'ada']), {kind: 'abort'}, mail(), rcpt('<ben@one.test>'));

  const second = judgedIn(say(session, data, end));

  t.deepEqual(first.envelope.recipients, ['ben@one.test', 'eve@one.test']);
  t.is(first.queueId, 'First1111');
  t.is(second.queueId, undefined);
  t.false(second.client.isTrusted);
});

test('trusted is who is in a trusted network, has logged in, or is a program of the host', t => {
  const clientOf = (opening: Opening, ...auth: [string, string][]) =>
    judgedIn(say(open(opening), macros('M', ...auth), mail(), rcpt('<ben@one.test>'), data, end)).client;
  const local = {hostname: 'localhost', port: 0, address: '127.0.0.1'};

  t.true(clientOf({isTrusted: true}).isTrusted);
  t.like(clientOf({}, ['{auth_authen}', 'ada']), {isTrusted: true, protocol: 'ESMTPA', user: 'ada'});
  t.like(clientOf({client: local}), {isTrusted: true, ip: '127.0.0.1'});
  t.like(clientOf({client: {family: 'L', address: '/run/x'}}), {isTrusted: true, ip: '127.0.0.1'});
  t.false(clientOf({}, ['{auth_authen}', '']).isTrusted);
  t.false(clientOf({client: {...local, port: 40_000}}).isTrusted);
  t.false(clientOf({client: {...local, address: '192.0.2.9'}}).isTrusted);
  t.like(clientOf({client: {family: 'U', hostname: 'unknown', address: ''}}), {isTrusted: false, ip: '0.0.0.0'});
});

test('a client without a name has none', t => {
  const hostnameOf = (hostname: string) =>
    judgedIn(say(open({client: {hostname}}), mail(), rcpt('<ben@one.test>'), data, end)).client.hostname;

  t.deepEqual(['[192.0.2.5]', 'unknown', '', 'mx.example.org'].map(hostnameOf), [null, null, null, 'mx.example.org']);
});

test('recipients of a second owner are to be sent apart, whoever came first', t => {
  const session = open();
  const start = () => say(session, {kind: 'abort'}, mail());

  start();
  t.deepEqual(answersTo(session, '<a@one.test>', '<b@two.test>', '<c@one.test>'), ['continue', 452, 'continue']);
  t.deepEqual(judgedIn(say(session, data, end)).envelope.recipients, ['a@one.test', 'c@one.test']);
  start();
  t.deepEqual(answersTo(session, '<a@one.test>', '<b@strange.test>', '<user>'), ['continue', 452, 452]);
  start();
  t.deepEqual(answersTo(session, '<a@strange.test>', '<b@other.test>', '<c@one.test>'), ['continue', 'continue', 452]);
  start();
  t.deepEqual(answersTo(session, '<a@closed.test>', '<b@one.test>', '<c@closed.test>'), [450, 'continue', 450]);
  start();
  t.deepEqual(repliesIn(say(session, rcpt('<a@one.test>'), rcpt('<b@two.test>')))[1], {
    kind: 'reply',
    code: 452,
    text: '4.5.3 One recipient domain per transaction, send this recipient apart',
  });
});

test('outbound mail may go to anybody', t => {
  const session = open({isTrusted: true});
  say(session, mail('<ada@out.test>'));

  t.deepEqual(answersTo(session, '<a@one.test>', '<b@strange.test>'), ['continue', 'continue']);
  t.like(judgedIn(say(session, data, end)).ownership, {direction: 'outbound'});
});

test('a mail of strangers to strangers is let go at DATA, and nothing of it is kept', t => {
  const session = open();

  const actions = say(session, mail(), rcpt('<a@strange.test>'), rcpt('<b@other.test>'), data);

  t.deepEqual(repliesIn(actions).at(-1), {kind: 'accept'});
  t.deepEqual(say(session, header('A', '1'), body('x')), []);
  t.deepEqual(repliesIn(say(session, end)), [{kind: 'accept'}]);
});

test('a program of the host, which cannot send a recipient apart, is not asked to', t => {
  const session = open({client: {hostname: 'localhost', port: 0, address: '127.0.0.1'}});
  say(session, mail('root@mx.test'));

  t.deepEqual(answersTo(session, 'a@one.test', 'b@two.test', 'c@strange.test'), ['continue', 'continue', 'continue']);
  t.deepEqual(repliesIn(say(session, data)), [{kind: 'accept'}]);
});

const long = 'x'.repeat(260);

test('an address of a domain of ours that cannot be parsed is refused, and the other recipients get the mail', t => {
  const session = open();
  say(session, mail());
  const bad = [
    '<"ben+<"@one.test>',
    `<${long}@one.test>`,
    '<a b@ONE.test.>',
    '<@one.test>',
    '<b\ufffdn@one.test>',
    '<b\x01n@one.test>',
  ];
  const routed = ['<@x.test,@y.test:a b@one.test>', '<"unfinished@one.test >', '<"ben+<"@closed.test>'];

  t.deepEqual(answersTo(session, ...bad, ...routed), Array(bad.length + routed.length).fill(501));
  t.deepEqual(answersTo(session, '<ben@one.test>', '<"ben+<"@one.test>'), ['continue', 501]);
  t.deepEqual(answersTo(session, '<"ben+<"@strange.test>', '<ben>', '<ben@>', '<ben@[192.0.2.1]>'), Array(4).fill(452));
  t.deepEqual(judgedIn(say(session, data, end)).envelope.recipients, ['ben@one.test']);
});

test('the owner is that of the address in the queue, whatever of it can be parsed', t => {
  const session = open();
  say(session, mail());
  const answer = (macro: string, argument: string) => {
    say(session, macros('R', ['{rcpt_addr}', macro]));
    return answersTo(session, argument)[0];
  };

  t.is(answer('ben+<@one.test', '<"ben+<"@one.test>'), 501);
  t.is(answer('ben+<@one.test', '<ben@strange.test>'), 501);
  t.is(answer('a@b@one.test', '<"a@b"@one.test>'), 550);
  t.is(answer('x y@one.test', '<"x y"@one.test>'), 'continue');
  t.is(answer('ben', '<ben@one.test>'), 'continue');
  t.is(answer('@evil.test:eve@one.test', '<"@evil.test:eve"@one.test>'), 550, 'no source route, but a routing local part');
  t.is(answer('@evil.test:eve@one.test', '<\\@evil.test\\:eve@one.test>'), 550);
  t.is(answer(' eve@one.test', '<" eve"@one.test>'), 'continue');
  t.is(answer('a"b\\c@one.test', '<"a\\"b\\\\c"@one.test>'), 'continue');
  t.deepEqual(judgedIn(say(session, data, end)).envelope.recipients, [
    '"x y"@one.test',
    'ben@one.test',
    '" eve"@one.test',
    '"a\\"b\\\\c"@one.test',
  ]);
});

test('senders and recipients that other servers take are judged as they are, quoted where Postfix leaves the quotes out', t => {
  const senders = ['a..b@example.net', 'ab.@example.net', '"odd user"@example.net', 'a@foo_bar.test'];
  const recipients = ['a..b@one.test', 'ab.@one.test', '"odd user"@one.test'];
  const unquoted = (address: string) => address.replaceAll('"', '');

  for (const sender of senders)
    for (const hasMacros of [true, false]) {
      const session = open();
      const given = (stage: string, name: string, address: string) =>
        macros(stage, ...(hasMacros ? [[name, unquoted(address)] as [string, string]] : []));
      say(session, given('M', '{mail_addr}', sender), mail(`<${sender}>`));
      for (const recipient of recipients) say(session, given('R', '{rcpt_addr}', recipient), rcpt(`<${recipient}>`));

      t.like(judgedIn(say(session, data, end)).envelope, {sender, recipients});
    }
});

test('outbound mail needs recipients that can be parsed too', t => {
  const session = open({isTrusted: true});
  say(session, mail('<ada@out.test>'));

  t.deepEqual(answersTo(session, '<a b@strange.test>', '<x%y@strange.test>', '<x%y@one.test>'), [501, 'continue', 'continue']);
});

test('a local part that a backend might obey is refused from strangers, and taken from clients that are trusted', t => {
  const addresses = [
    '<a%b.test@one.test>',
    '<b!a@one.test>',
    '<"a@b.test"@one.test>',
    '<"\\|a"@one.test>',
    '<" |a"@one.test>',
    '</a@one.test>',
  ];
  const answers = (opening: Opening, ...auth: [string, string][]) => {
    const session = open(opening);
    say(session, macros('M', ...auth), mail());
    return answersTo(session, ...addresses);
  };

  t.deepEqual(answers({}), Array(addresses.length).fill(550));
  t.deepEqual(answers({isTrusted: true}), Array(addresses.length).fill('continue'));
  t.deepEqual(answers({}, ['{auth_authen}', 'ada']), Array(addresses.length).fill('continue'));
  const session = open();
  t.deepEqual(repliesIn(say(session, mail(), rcpt('<a%b@one.test>'))).at(-1), {
    kind: 'reply',
    code: 550,
    text: '5.1.3 Routing in the local part of an address is not allowed',
  });
  t.deepEqual(answersTo(session, '<a%b@strange.test>'), ['continue']);
});

test('a recipient that Postfix refuses itself is none', t => {
  const session = open();
  say(session, mail(), rcpt('<a@one.test>'), macros('R', ['{rcpt_mailer}', 'error']));

  t.deepEqual(answersTo(session, '<nobody@two.test>'), ['continue']);
  t.deepEqual(judgedIn(say(session, data, end)).envelope.recipients, ['a@one.test']);
});

test('a node that takes no mail refuses its own, and lets that of strangers pass', t => {
  const session = open({canTakeMail: () => ({code: 452, text: '4.3.1 Full'})});
  say(session, mail());

  t.deepEqual(answersTo(session, '<a@one.test>', '<b@strange.test>'), [452, 'continue']);
});

test('a sender that is no address is refused with the first recipient that is ours', t => {
  for (const address of ['<a b@example.net>', '<a@exa\ufffdmple.net>', '<a@>']) {
    const session = open();
    say(session, mail(address));
    t.deepEqual(answersTo(session, '<b@strange.test>', '<a@one.test>'), ['continue', 501], address);
  }
});

test('more recipients than anybody writes to are refused, and repeating one is not', t => {
  const session = open();
  say(session, mail());
  for (let n = 0; n < 10_000; n += 1) say(session, rcpt(`<r${n}@one.test>`));

  t.deepEqual(answersTo(session, '<another@one.test>', '<r1@one.test>'), [452, 'continue']);
});

test('an abort forgets the mail and keeps the client', t => {
  const session = open();
  say(session, mail(), rcpt('<a@one.test>'), data, body('first'));

  t.deepEqual(say(session, {kind: 'abort'}), [{kind: 'forget'}]);
  t.deepEqual(say(session, {kind: 'abort'}), []);

  const actions = say(session, mail('<eve@example.net>'), rcpt('<b@one.test>'), data, body('second'), end);
  t.is(bytesIn(actions), '\r\nsecond');
  t.like(judgedIn(actions), {client: {ip: '192.0.2.5'}, envelope: {sender: 'eve@example.net', recipients: ['b@one.test']}});
});

test('a greeting or another mail forgets the one before as well', t => {
  for (const command of [{kind: 'helo', name: 'x'} as const, mail(), connect]) {
    const session = open();
    say(session, mail(), rcpt('<a@one.test>'), data, body('first'));
    t.deepEqual(say(session, command)[0], {kind: 'forget'}, command.kind);
  }
});

test('an abort while a mail is judged is heard, and its answer is not given', t => {
  const session = open();
  const first = judgedIn(say(session, mail(), rcpt('<a@one.test>'), data, end));
  t.true(session.isJudging(first));

  t.deepEqual(say(session, {kind: 'abort'}), [{kind: 'forget'}]);

  t.false(session.isJudging(first));
  t.deepEqual(session.judged(first, [{kind: 'accept'}]), []);
  const second = judgedIn(say(session, mail(), rcpt('<a@one.test>'), data, end));
  t.deepEqual(session.judged(first, [{kind: 'accept'}]), []);
  t.deepEqual(session.judged(second, [{kind: 'accept'}]), [{kind: 'answer', replies: [{kind: 'accept'}]}]);
});

test('after quit the connection is closed; after the other quit it is for another client', t => {
  t.deepEqual(say(open(), {kind: 'quit'}), [{kind: 'close'}]);

  const session = open();
  t.deepEqual(say(session, mail(), {kind: 'quit-connection'}), [{kind: 'forget'}]);
  t.throws(() => say(session, mail()), {instanceOf: MilterError});
  say(session, {...connect, address: '192.0.2.77'}, mail(), rcpt('<a@one.test>'), data);
  t.is(judgedIn(say(session, end)).client.ip, '192.0.2.77');
});

test('a mail is under way from its data to its answer', t => {
  const session = open();
  say(session, mail(), rcpt('<a@one.test>'));
  t.false(session.isMailUnderWay);
  say(session, data);
  t.true(session.isMailUnderWay);
  const judged = judgedIn(say(session, end));
  t.true(session.isMailUnderWay);

  session.judged(judged, [{kind: 'accept'}]);

  t.false(session.isMailUnderWay);
});

test('what is out of turn is an error', t => {
  const outOfTurn: Record<string, MilterCommand[]> = {
    'a second negotiation': [{kind: 'negotiate', ...offered}],
    'a recipient without a mail': [rcpt('<a@one.test>')],
    'data of no mail': [data],
    'data without a recipient': [mail(), data],
    'an end without a recipient': [mail(), end],
    'data whose only recipient was refused': [mail(), rcpt('<a@closed.test>'), data],
    'a header after the body': [mail(), rcpt('<a@one.test>'), data, body('x'), header('A', '1')],
    'a recipient after the data': [mail(), rcpt('<a@one.test>'), data, rcpt('<b@one.test>')],
    'a mail before the answer': [mail(), rcpt('<a@one.test>'), data, end, mail()],
    'a client whose address is invalid': [{...connect, address: '192.0.2.500'} as MilterCommand],
  };

  for (const [what, commands] of Object.entries(outOfTurn))
    t.throws(() => say(open(), ...commands), {instanceOf: MilterError}, what);
  const fresh = () =>
    createMilterSession({isTrusted: () => false, intake: {claim, canTakeMail: () => undefined}, refusals: {record() {}}});
  t.throws(() => fresh().receive(connect), {instanceOf: MilterError});
});
