import test from 'ava';
import {publicRemarks} from '../../../daemon/node/dependencies.ts';

const problem = {part: 'backend', name: '192.0.2.1:25', domains: ['example.com'], detail: '554 go away', refuses_mail: false};

test('remarks name no address and no domain, count backends, and leave out what refuses mail', t => {
  const remarks = publicRemarks([
    {...problem, part: 'scanner', since: '2026-11-27T06:00:00.000Z', refuses_mail: true},
    {...problem, part: 'name_servers', since: '2026-11-27T07:00:00.000Z'},
    {...problem, since: '2026-11-27T08:00:00.000Z'},
    {...problem, since: '2026-11-27T07:30:00.000Z', name: '192.0.2.2:25'},
  ]);

  t.deepEqual(remarks, [
    'the name servers do not answer since 2026-11-27T07:00:00.000Z',
    '2 backends do not work, the first since 2026-11-27T07:30:00.000Z',
  ]);
});
