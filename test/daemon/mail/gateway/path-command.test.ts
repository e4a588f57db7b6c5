import test from 'ava';
import {parsePathCommand} from '../../../../daemon/mail/gateway/path-command.ts';

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
