import test from 'ava';
import {zoneLine} from '../../../cli/output/cell-text.ts';

test('a long record is cut into strings that join to the same text', t => {
  const dns_record = `v=DKIM1; k=rsa; p=${'A'.repeat(400)}`;

  const line = zoneLine({dns_name: 'mfd2026._domainkey.example.com', dns_record});

  const strings = [...line.matchAll(/"([^"]*)"/g)].map(([, text]) => text ?? '');
  t.true(line.startsWith('mfd2026._domainkey.example.com. IN TXT "v=DKIM1;'));
  t.is(strings.join(''), dns_record);
  t.true(strings.every(text => text.length <= 255));
});
