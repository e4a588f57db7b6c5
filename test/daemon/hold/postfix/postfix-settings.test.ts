import test from 'ava';
import {createLifetime, hasLongQueueIds, parseQueueLifetime} from '../../../../daemon/hold/postfix/postfix-settings.ts';

test('a time is read as postconf writes it', t => {
  const day = 86_400_000;

  t.deepEqual(
    ['5d', '5', '0', '1w', '3h', '90m', '30s', ' 2d '].map(text => parseQueueLifetime(text)),
    [5 * day, 5 * day, 0, 7 * day, day / 8, day / 16, 30_000, 2 * day],
  );
  for (const wrong of ['', 'd', '-1d', '1y', '5 d', '1d2h', '9'.repeat(12)]) t.is(parseQueueLifetime(wrong), undefined, wrong);
});

test('the lifetime is asked again after ten minutes, and is the default where Postfix does not say it', async t => {
  let now = 0;
  const answers = ['1d', 'x', undefined];
  const lifetime = createLifetime(
    {
      async parameter() {
        const answer = answers.shift();
        if (answer === undefined) throw new Error('postconf failed');
        return answer;
      },
    },
    () => now,
  );

  const seen = [await lifetime(), await lifetime()];
  for (const at of [599_999, 600_000, 1_200_000]) {
    now = at;
    seen.push(await lifetime());
  }

  t.deepEqual(
    seen.map(ms => ms / 86_400_000),
    [1, 1, 1, 5, 5],
  );
});

test('ids are long only when Postfix says yes', async t => {
  t.true(await hasLongQueueIds({parameter: async () => 'yes'}));
  t.false(await hasLongQueueIds({parameter: async () => 'no'}));
});
