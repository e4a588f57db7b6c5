// Agreement of gateway, milter and lookup tables on the owner of a recipient: where they differ, mail passes unjudged.
import test from 'ava';
import fc from 'fast-check';
import {createMilterSession} from '../../../../daemon/mail/milter/milter-session.ts';
import {createRoutingTables} from '../../../../daemon/mail/socketmap/routing-tables.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';
import {claim, startTestGateway} from '../../../helpers/gateway.ts';
import {offered} from '../../../helpers/milter.ts';
import {connect} from '../../../helpers/smtp-client.ts';

const tables = createRoutingTables({
  domains: {findByName: name => (name === 'one.test' ? ({name, active: true} as Domain) : undefined)},
  routeTo: () => ({servers: [{host: '192.0.2.1', port: 25}]}),
  recipients: {ask: async () => ({verdict: 'known', reason: ''})},
  isForReports: () => false,
  standstill: () => undefined,
});

const session = createMilterSession({
  isTrusted: () => false,
  intake: {claim, canTakeMail: () => undefined},
  refusals: {record() {}},
});
session.receive({kind: 'negotiate', ...offered});
session.receive({kind: 'connect', hostname: 'mx.example.net', family: '4', port: 25, address: '192.0.2.5'});

/** `foreign`: the mail would pass as mail that does not belong to this node. */
const milterAnswer = (path: string): 'judged' | 'foreign' | number => {
  session.receive({kind: 'mail', address: '<ada@example.net>', parameters: []});
  const [action] = session.receive({kind: 'rcpt', address: path, parameters: []});
  const reply = action?.kind === 'answer' ? action.replies[0] : undefined;
  if (reply?.kind === 'reply') return reply.code;
  const [next] = session.receive({kind: 'data'});
  return next?.kind === 'answer' && next.replies[0]?.kind === 'accept' ? 'foreign' : 'judged';
};

const isOurs = (path: string): boolean => kindIn('relay_domains', path) === 'found';
const kindIn = (table: string, path: string) => (tables.lookUp(table, path) as {kind: string}).kind;

const locals = fc.oneof(
  fc.string({unit: anyCharacter, maxLength: 300}),
  fc.string({unit: 'grapheme-ascii', maxLength: 30}),
  fc.string({unit: fc.constantFrom('a', '.', '@', '%', '!', '|', '/', '"', '\\', '<', '>', ':', ',', ' ', '\t'), maxLength: 12}),
  fc.constantFrom('ben', 'ben+tag', '"x y"', 'b..n', 'ben.', '"ben+<"', 'x'.repeat(260), '@a.test,@b.test:ben'),
);
const names = fc.oneof(
  fc.constantFrom('one.test', 'ONE.Test', 'one.test.', 'ｏｎｅ.test', 'one。test', 'o\u00adne.test', 'one.test ', 'one.test..'),
  fc.constantFrom(
    'strange.test',
    'sub.one.test',
    'x_y.one.test',
    'one_test.test',
    'test',
    '',
    '[192.0.2.1]',
    'one.test:25',
    'one.test\u0000',
    `${'o.'.repeat(200)}one.test`,
  ),
  fc.string({unit: 'grapheme', maxLength: 12}),
);
const addresses = fc.oneof(
  fc.tuple(locals, names).map(([local, name]) => `${local}@${name}`),
  locals,
);

test('the milter leaves alone what the tables do not know, and nothing else', t => {
  const seen = new Set<string | number>();
  fc.assert(
    fc.property(addresses, fc.boolean(), (address, isBare) => {
      const path = isBare ? address : `<${address}>`;
      const answer = milterAnswer(path);
      seen.add(answer);
      t.is(answer === 'foreign', !isOurs(path), JSON.stringify(path));
      t.is(kindIn('transport_maps', path) === 'found', isOurs(path), JSON.stringify(path));
    }),
    {numRuns: 5000},
  );
  t.deepEqual([...seen].map(String).toSorted(), ['501', '550', 'foreign', 'judged']);
});

test('the gateway takes no recipient that the milter would not judge, and calls none foreign that the tables know', async t => {
  const gateway = await startTestGateway(t);
  const connectClient = async () => {
    const client = await connect(gateway.port);
    t.teardown(() => client.destroy());
    await client.cmd('EHLO client.test');
    await client.cmd('MAIL FROM:<ada@example.net> SMTPUTF8');
    return client;
  };
  let client = await connectClient();
  let count = 0;
  const codes = new Set<string>();

  await fc.assert(
    fc.asyncProperty(addresses, async address => {
      // A client is disconnected after a hundred errors.
      count += 1;
      if (count % 90 === 0) client = await connectClient();
      const path = `<${address.replace(/[\r\n]/g, '')}>`;
      const {code, text} = await client.cmd(`RCPT TO:${path}`);
      codes.add(`${code}`);
      const answer = milterAnswer(path);
      if (code === 250) t.is(answer, 'judged', JSON.stringify(path));
      else t.true([452, 501, 550, 553, 555].includes(code), `${code} ${text} ${JSON.stringify(path)}`);
      if (text.includes('5.7.1')) t.false(isOurs(path), JSON.stringify(path));
      // A `>` may end the path early for one of them, and what follows is then a parameter.
      if (typeof answer === 'number') t.true([501, 550, 555].includes(code), `${code} ${text} ${JSON.stringify(path)}`);
    }),
    {numRuns: 600},
  );
  for (const code of ['250', '501', '550']) t.true(codes.has(code), code);
});
