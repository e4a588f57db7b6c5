import test from 'ava';
import {createBackendFailures} from '../../../../daemon/mail/backend/backend-pool.ts';

test('what is wrong with a server is said once a minute, and something else at once', t => {
  const lines: string[] = [];
  let nowMs = 0;
  const warn = (fields: object) => void lines.push(JSON.stringify(fields));
  const failed = createBackendFailures({log: {warn}, now: () => nowMs, maxRemembered: 2});
  const one = {host: 'mx.test', port: 25};

  for (let n = 0; n < 5; n += 1) failed(one, 'refused');
  t.deepEqual(lines, ['{"server":{"host":"mx.test","port":25},"detail":"refused"}']);
  failed(one, 'no reply');
  failed({...one, port: 26}, 'refused');
  t.is(lines.length, 3);
  nowMs = 59_999;
  failed(one, 'no reply');
  t.is(lines.length, 3);
  nowMs = 60_000;
  failed(one, 'no reply');
  t.is(lines.length, 4);
});
