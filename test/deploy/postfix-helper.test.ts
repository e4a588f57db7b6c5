// The helper that acts on Postfix's hold queue for mfd, as systemd would run it: a request on standard input, the answer on the output.
import {spawnSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import test from 'ava';

const helper = fileURLToPath(new URL('../../daemon/deploy/postfix-helper', import.meta.url));

/** A Postfix that does not exist: whatever is run of it all the same says so and does not end with 64. */
const ask = (request: string | Buffer, configuration = '/nonexistent') => {
  const {status, stdout, stderr} = spawnSync(helper, {input: request, encoding: 'utf8', env: {MAIL_CONFIG: configuration}});
  return {status, stdout, stderr};
};

const refusal = (why: string) => ({status: 0, stdout: `mfd postfix-helper: ${why}\n\nexit 64\n`, stderr: ''});
const ids = (count: number): string => Array.from({length: count}, (_, n) => `4jX9d90rF${n}\n`).join('');

test('only what is offered can be asked for', t => {
  for (const verb of ['hold', 'delete', '', ' release', 'release -c', '-H', '$(id)', 'RELEASE'])
    t.deepEqual(
      ask(`${verb || 'ABCDEF'}\n4jX9d90rF0z\n`),
      refusal('unknown verb; known are release, requeue, discard, headers and body'),
      verb,
    );
  t.deepEqual(ask(''), refusal('the request is empty'));
});

test('what is no queue id is refused, and nothing is run for the others', t => {
  for (const verb of ['release', 'requeue', 'discard', 'headers', 'body']) {
    t.deepEqual(ask(`${verb}\n`), refusal('no queue id'), verb);
    for (const id of ['-', 'ALL', '5jX9d', 'x'.repeat(65)])
      t.regex(ask(`${verb}\n${id}\n`).stdout, /^mfd postfix-helper: a queue id .*\n\nexit 64\n$/, `${verb} ${id}`);
    for (const id of [
      '-ABCDEF',
      '../../etc/shadow',
      'ABC DEF',
      'ABCDEF;id',
      '`id`ABCDEF',
      'ABCDEF*',
      'ABCDÉFG',
      'ABC\0DEF',
      'ABCDEF\r',
    ])
      t.deepEqual(ask(`${verb}\n${id}\n`), refusal('a queue id is made of letters and digits'), `${verb} ${id}`);
  }
  t.deepEqual(ask('release\n4jX9d90rF0z\n-ABCDEF\n4jX9d90rF0z\n'), refusal('a queue id is made of letters and digits'));
});

test('a request that is too long is refused', t => {
  for (const verb of ['release', 'requeue', 'discard'])
    t.deepEqual(ask(`${verb}\n${ids(1001)}`), refusal('more than 1000 queue ids'));
  t.deepEqual(ask(`headers\n${ids(101)}`), refusal('more than 100 queue ids'));
  t.deepEqual(ask(`body\n${ids(2)}`), refusal('more than 1 queue ids'));
  t.deepEqual(ask(`release\n${'A'.repeat(66_000)}`), refusal('the request is too long'));
});

test('the last line is the exit status of the command, also when it cannot run', t => {
  for (const verb of ['release', 'requeue', 'discard', 'headers', 'body'])
    t.regex(ask(`${verb}\n4jX9d90rF0z`).stdout, /\n\nexit (1|127)\n$|^\nexit (1|127)\n$/, verb);
  t.regex(ask(`release\n${`${'A'.repeat(64)}\n`.repeat(1000)}`).stdout, /\nexit (1|127)\n$/);
});
