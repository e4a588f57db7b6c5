import test from 'ava';
import {type ConnectionLender, createBackendTransaction} from '../../../../daemon/mail/backend/backend-transaction.ts';

const servers = [1, 2, 3].map(n => ({host: `mx${n}.example`, port: 25}));

test('a connection is hurried as long as another server is left, in the order of the lender', async t => {
  const asked: string[] = [];
  const lender: ConnectionLender = {
    serversOf: ({servers}) => servers.toReversed(),
    takeIdle: async () => undefined,
    async connect(_route, {host}, isHurried) {
      asked.push(`${host} ${isHurried}`);
      return {lost: 'nobody there', stage: 'command'};
    },
    giveBack: () => undefined,
    failed: () => undefined,
    lostInData: () => undefined,
  };
  const transaction = createBackendTransaction(lender, {servers}, {sender: '', isUtf8: false, isEightBit: false});

  t.like(await transaction.rcpt('b@two.test'), {code: 451});

  t.deepEqual(asked, ['mx3.example true', 'mx2.example true', 'mx1.example false']);
});
