// The sources of mail from a domain, in the whole dashboard.
import test from 'ava';
import {drawDashboard} from '../../../../helpers/dashboard/drawn-dashboard.ts';

test('S in a domain shows its sources of verified reports, v those of all, and escape goes back', async t => {
  const {send, shows} = await drawDashboard(t, {screen: 'domains'});
  await shows('example.com');

  send('\r');
  await shows('DMARC sources');
  send('S');
  await shows('28 verified reports');
  send('v');
  await shows('28 all reports');
  send('\r');
  t.regex(await shows('Mail from example.com'), /Reported by +google\.example, mail\.example \(not verified\)/);
  send('\x1b');
  await shows('all reports');
  send('\x1b');
  await shows('Mail filters (');
});
