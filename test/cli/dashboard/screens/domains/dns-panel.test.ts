import test from 'ava';
import {dnsPage, dnsPairs} from '../../../../../cli/dashboard/screens/domains/dns-panel.ts';
import {checkedDns} from '../../../../helpers/cli/sample-answers.ts';
import {plainTheme, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';

test('the panel names the records that are not right, and says so where all are', t => {
  const [mx] = checkedDns.records;

  t.deepEqual(dnsPairs(checkedDns), [['DNS', 'spf differs, dkim missing; n shows them', 'bad']]);
  t.deepEqual(dnsPairs({...checkedDns, records: checkedDns.records.slice(0, 2)}), [
    ['DNS', 'spf differs: ?all says nothing about other senders; end with -all or ~all', 'bad'],
  ]);
  t.deepEqual(dnsPairs({...checkedDns, records: mx ? [mx] : []}), [['DNS', '1 record, all right', 'good']]);
  t.deepEqual(dnsPairs(undefined), []);
});

test('the page has every record, what is wanted and found where it differs, and the advice', t => {
  const text = withoutStyle(dnsPage(checkedDns, plainTheme).lines(120).join('\n'));

  t.regex(text, /^example\.com +mx right$/m);
  t.regex(
    text,
    /^example\.com +spf differs: \?all says nothing[^\n]*\n +wanted +TXT v=spf1 mx -all *\n +found +TXT v=spf1 mx \?all/m,
  );
  t.regex(text, /^Advice +97 % of your mail passes DMARC/m);
});
