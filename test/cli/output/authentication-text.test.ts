import test from 'ava';
import {authenticationMeaning} from '../../../cli/output/authentication-text.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';

const meaning = (dmarc: MailAuthentication['dmarc']): string =>
  authenticationMeaning({spf: {result: 'pass', domain: 'mailer.test'}, dkim: [], dmarc, arc: {result: 'none'}});

test('an author without a domain is not called by one', t => {
  t.is(meaning({result: 'fail', policy: null, domain: ''}), 'It cannot be told from the mail who wrote it.');
  t.regex(meaning({result: 'none', policy: null, domain: ''}), /^The address of the author has no domain/);
  t.regex(meaning({result: 'none', policy: null, domain: 'a.test'}), /a\.test has no DMARC policy/);
  t.regex(
    meaning({result: 'fail', policy: 'reject', domain: 'bank.test'}),
    /does not come from bank\.test, which wants such mail refused/,
  );
});
