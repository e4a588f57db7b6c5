import test from 'ava';
import {digestPatchSchema} from '../../shared/digest.ts';
import {canonicalException, exceptionTest, isTimeZone, mailboxOf} from '../../shared/digest-rules.ts';

test('a mailbox has no case and no tag', t => {
  const mailboxes: [string, string][] = [
    ['Ann@Example.COM', 'ann@example.com'],
    ['ann+news@example.com', 'ann@example.com'],
    ['ann+a+b@example.com', 'ann@example.com'],
    ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
    ['+ann@example.com', '+ann@example.com'],
    ['"ann+news"@example.com', 'ann@example.com'],
    ['"Ann"@example.com', 'ann@example.com'],
    ['"a\\nn"@example.com', 'ann@example.com'],
    ['"\\a\\n\\n\\+x"@example.com', 'ann@example.com'],
    ['"ann b+c"@example.com', '"ann b"@example.com'],
    ['"an\\"n"@example.com', '"an\\"n"@example.com'],
    ['"@"@example.com', '"@"@example.com'],
    ['""@example.com', '""@example.com'],
    ['mar\u212a@example.com', 'mar\u212a@example.com'],
    ['\u00dcnal@example.com', '\u00dcnal@example.com'],
    ['ann@plus+plus', 'ann@plus+plus'],
  ];
  for (const [address, mailbox] of mailboxes) t.is(mailboxOf(address), mailbox);
});

test('an exception is an address, with all its tags, or a whole domain', t => {
  t.true(exceptionTest(['info@example.com'])('INFO@example.com'));
  t.true(exceptionTest(['info@example.com'])('info+a@example.com'));
  t.false(exceptionTest(['info+a@example.com'])('info@example.com'));
  t.true(exceptionTest(['info@example.com'])('"in\\fo"@example.com'));
  t.true(exceptionTest(['\u00fcnal@example.com'])('\u00dcNAL@example.com'));
  t.true(exceptionTest(['\u00fcnal@example.com'])('\u00dcNAL+x@example.com'));
  t.true(exceptionTest(['\u00fcnal@example.com'])('"\u00dcNAL"@example.com'));
  t.true(exceptionTest(['*@example.com'])('anybody@example.com'));
  t.false(exceptionTest(['*@example.com'])('anybody@sub.example.com'));
  t.false(exceptionTest([])('info@example.com'));
  t.is(canonicalException('Info@Example.com'), 'info@example.com');
  t.is(canonicalException('*@Bücher.example'), '*@xn--bcher-kva.example');
  for (const text of ['*', 'example.com', 'a*@example.com', '*@', '', '*@*']) t.is(canonicalException(text), undefined, text);
});

test('a time zone is one of the database, and no offset', t => {
  for (const name of ['UTC', 'Europe/Berlin', 'america/new_york']) t.true(isTimeZone(name), name);
  for (const name of ['+02:00', 'Mars/Olympus', '', 'Europe/Berlin\n', '../UTC']) t.false(isTimeZone(name), name);
});

test('all faults of settings are said at once', t => {
  const {error} = digestPatchSchema.safeParse({
    at: '7:00',
    timezone: 'x',
    language: 'fr',
    except: ['x'],
    actions: {virus: 'none'},
    on: true,
  });

  t.deepEqual(error?.issues.map(({path}) => path.join('.')).sort(), ['', 'actions', 'at', 'except.0', 'language', 'timezone']);
});
