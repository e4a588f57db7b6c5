import test from 'ava';
import {unsentReports} from '../../../cli/domain/unsent-reports.ts';
import {clusterStatus, peer} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {clientOf} from '../../helpers/dashboard/fake-shell.ts';

test('nodes without an address for reports are named, and a key that may not read the status hears nothing', async t => {
  const peers = [peer('mx1'), {...peer('mx2'), dmarc_unset: true}, {...peer('mx3'), dmarc_unset: true}];
  const open = await startApi(t, {'GET /cluster/status': {data: clusterStatus(peers)}});
  const closed = await startApi(t, {
    'GET /cluster/status': {status: 403, error: {code: 'insufficient_scope', detail: 'not for this key'}},
  });

  const made = [{}, {dmarc_reporting: true}];

  t.regex((await unsentReports(await clientOf(open), made)) ?? '', /^no DMARC reports are sent by mx2, mx3, /);
  t.is(await unsentReports(await clientOf(closed), made), undefined);
  t.is(await unsentReports(await clientOf(open), [{dmarc_reporting: false}, {}]), undefined);
});
