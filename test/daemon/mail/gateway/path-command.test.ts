import test from 'ava';
import {parseMailCommand, parsePathCommand, parseRcptCommand} from '../../../../daemon/mail/gateway/path-command.ts';

test('the address is what is in the brackets, without a source route, and the rest are parameters', t => {
  for (const [line, address, parameters] of [
    ['MAIL FROM:<>', '', ''],
    ['MAIL FROM: <a@b.test>', 'a@b.test', ''],
    ['MAIL FROM:<a@b.test>  SIZE=1 BODY=8BITMIME ', 'a@b.test', 'SIZE=1 BODY=8BITMIME '],
    ['MAIL FROM:<@x.test,@y.test:a@b.test>', 'a@b.test', ''],
    ['MAIL FROM:<"odd  user"@b.test> SMTPUTF8', '"odd  user"@b.test', 'SMTPUTF8'],
    ['MAIL FROM:<"a:\\"b\\\\"@b.test>', '"a:\\"b\\\\"@b.test', ''],
    ['MAIL FROM:<"@x:a"@b.test>', '"@x:a"@b.test', ''],
    ['MAIL FROM:<a@b.test> <c@d.test>', 'a@b.test', '<c@d.test>'],
  ] as const)
    t.deepEqual(parsePathCommand(line), {verb: 'MAIL FROM', address, parameters}, line);
});

test('a command without a path in brackets has none, and brackets and spaces end no quoted part', t => {
  for (const line of [
    'MAIL FROM',
    'MAIL FROM:a@b.test',
    'MAIL FROM:<a@b.test',
    'MAIL FROM:<a b@c.test>',
    'MAIL FROM:<a@b.test>SIZE=1',
    'MAIL FROM:<"a b@c.test>',
    'MAIL FROM:<"a> b"@c.test>',
    'MAIL FROM:<"a\\> b"@c.test>',
    'MAIL FROM:<"a\\" b@c.test> "',
  ])
    t.is(parsePathCommand(line), undefined, line);
});

const replyTo = (said: string): string => {
  const start = parseMailCommand(said, 1000);
  return 'code' in start ? `${start.code} ${start.text}` : 'accepted';
};

test('the parameters of MAIL are those that EHLO offers, once and in their form', t => {
  for (const [parameters, answer] of [
    ['', 'accepted'],
    ['SIZE=1000 BODY=7BIT SMTPUTF8', 'accepted'],
    ['size=0 body=8bitmime', 'accepted'],
    ['SIZE=1001', '552 5.3.4 Message exceeds the maximum message size'],
    ['SIZE=99999999999999999999', '552 5.3.4 Message exceeds the maximum message size'],
    ['SIZE', '501 5.5.4 Bad message size syntax'],
    ['SIZE=-1', '501 5.5.4 Bad message size syntax'],
    ['SIZE=1 size=1', '501 5.5.4 Parameter given twice'],
    ['BODY=BINARYMIME', '501 5.5.4 BODY is 7BIT or 8BITMIME'],
    ['BODY', '501 5.5.4 BODY is 7BIT or 8BITMIME'],
    ['SMTPUTF8=yes', '501 5.5.4 SMTPUTF8 takes no value'],
    ['AUTH=<>', '555 5.5.4 Unsupported parameter'],
    ['__proto__=1', '555 5.5.4 Unsupported parameter'],
  ] as const)
    t.is(replyTo(`MAIL FROM:<a@strange.test> ${parameters}`), answer, parameters);
  for (const said of ['MAIL', 'MAIL TO:<a@strange.test>', 'MAIL FROM:a@strange.test', 'MAIL FROM :<a@strange.test> x:<y>'])
    t.regex(replyTo(said), /^5/, said);
  t.deepEqual(parseMailCommand('mail from:<jürgen@strange.test> BODY=8BITMIME SMTPUTF8 SIZE=7', 1000), {
    sender: 'jürgen@strange.test',
    isUtf8: true,
    isEightBit: true,
    sizeBytes: 7,
  });
});

test('RCPT takes an address and no parameters', t => {
  const plain = {isUtf8: false};
  t.is(parseRcptCommand('RCPT TO:<ben@ONE.test>', plain), 'ben@one.test');
  t.is(parseRcptCommand('RCPT TO:<zoë@one.test>', {isUtf8: true}), 'zoë@one.test');
  for (const [said, code] of [
    ['RCPT TO:<zoë@one.test>', 553],
    ['RCPT TO:<>', 501],
    ['RCPT FROM:<ben@one.test>', 501],
    ['RCPT TO:<ben@one.test> NOTIFY=NEVER', 555],
  ] as const)
    t.like(parseRcptCommand(said, plain), {code}, said);
});
