import test from 'ava';
import {parse} from 'yaml';
import {missingKeys, valueIn, withKeys, withoutKeys} from '../../../daemon/setup/node-config.ts';

const keys = [
  {key: 'postfix.config_dir', value: '/etc/postfix'},
  {key: 'postfix.milter_listen', value: 'unix:/var/spool/postfix/mfd/milter.sock'},
];

const commented = '# mine\nfqdn: mx1.example.com # this one\n\nsmtp:\n    listen: "127.0.0.1:25"\n# postfix:\n#   config_dir: /x';

test('a section that is not there is added at the end, and all else stays byte for byte', t => {
  const text = withKeys(commented, keys);

  t.true(text.startsWith(`${commented}\n`));
  t.deepEqual(parse(text).postfix, {config_dir: '/etc/postfix', milter_listen: 'unix:/var/spool/postfix/mfd/milter.sock'});
  t.is(parse(text).smtp.listen, '127.0.0.1:25');
});

for (const [name, text] of [
  ['that is there', 'postfix:\n  # where it is\n  config_dir: /etc/postfix # so\nfqdn: a.example\n'],
  ['that is empty', 'postfix:\nfqdn: a.example\n'],
  ['in braces', '{fqdn: a.example, postfix: {config_dir: /etc/postfix}}\n'],
  ['of a file in braces', '{fqdn: a.example}\n'],
  ['of a file with an end', 'fqdn: a.example\n...\n'],
  ['of an empty file', ''],
  ['of a file of comments', '# nothing yet\n'],
] as const)
  test(`keys are added to a section ${name}`, t => {
    const added = withKeys(text, missingKeys(text, keys));

    t.deepEqual(parse(added).postfix, {config_dir: '/etc/postfix', milter_listen: 'unix:/var/spool/postfix/mfd/milter.sock'});
    t.is(parse(added).fqdn, text.includes('fqdn') ? 'a.example' : undefined);
    for (const comment of text.match(/#.*$/gm) ?? []) t.true(added.includes(comment), added);
  });

test('a key that has a value already is not missing, whatever the value is', t => {
  t.deepEqual(missingKeys('postfix:\n  config_dir: /opt\n', keys), keys.slice(1));
  t.is(valueIn('postfix:\n  config_dir: /opt\n', 'postfix.config_dir'), '/opt');
  t.is(valueIn('postfix:\n', 'postfix.config_dir'), null);
});

test('keys are taken out again, and a section that is empty then', t => {
  t.is(
    withoutKeys('a: 1 # one\npostfix:\n  config_dir: /x\n  reconcile_interval: 5 # mine\n', ['postfix.config_dir']),
    'a: 1 # one\npostfix:\n  reconcile_interval: 5 # mine\n',
  );
  t.deepEqual(
    parse(
      withoutKeys(
        withKeys('a: 1\n', keys),
        keys.map(({key}) => key),
      ),
    ),
    {a: 1},
  );
});
