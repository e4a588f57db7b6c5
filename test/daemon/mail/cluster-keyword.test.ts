import {X509Certificate} from 'node:crypto';
import test from 'ava';
import {clusterKeyword, hasKeyword} from '../../../daemon/mail/smtp-reply.ts';
import {selfSigned} from '../../helpers/certificate.ts';

test('a cluster has one keyword, which is valid in EHLO and says nothing of the fingerprint', async t => {
  const [one, other] = await Promise.all([selfSigned('one'), selfSigned('other')]);
  const keyword = clusterKeyword(one.cert);

  t.regex(keyword, /^X-MFD-[0-9a-f]{16}$/);
  t.is(clusterKeyword(one.cert), keyword);
  t.not(clusterKeyword(other.cert), keyword);
  const fingerprint = new X509Certificate(one.cert).fingerprint256.replaceAll(':', '').toLowerCase();
  t.false(fingerprint.includes(keyword.slice('X-MFD-'.length)));
});

test('a keyword is found on a line of its own, in any case, and nowhere else', t => {
  const keyword = 'X-MFD-0123456789abcdef';

  for (const answer of [
    `250-mx.test\r\n250-SIZE 1\r\n250 ${keyword}`,
    `250-mx.test\n250-${keyword.toUpperCase()}\n250 SIZE`,
    `250-mx.test\r\n250 ${keyword} more\r\n`,
  ])
    t.true(hasKeyword(answer, keyword), answer);
  for (const answer of ['', '250 mx.test', `250-mx.test\r\n250 ${keyword}0`, `250-mx.test\r\n250 SIZE ${keyword}`, '250-X-MFD-'])
    t.false(hasKeyword(answer, keyword), answer);
});
