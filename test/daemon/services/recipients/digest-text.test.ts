import test from 'ava';
import PostalMime from 'postal-mime';
import {digestMail} from '../../../../daemon/mail/digest-mail.ts';
import type {DigestMail} from '../../../../daemon/services/recipients/digest-model.ts';
import {settingsOf} from '../../../../daemon/services/recipients/digest-settings.ts';
import {digestParts} from '../../../../daemon/services/recipients/digest-text.ts';

const mail = (given: Partial<DigestMail> = {}): DigestMail => ({
  ...{address: 'ann@one.test', mailbox: 'ann@one.test', token: '1-AAAAAAAAAAAAAAAAAAAAAA', digest_id: 'AbC', others: 0},
  ...{sender: 'news@shop.test', from: ['news@shop.test'], subject: 'Summer sale', reason: 'spam', action: 'release'},
  arrived_at: '2026-03-29T00:30:00.000Z',
  ...given,
});

const settings = {...settingsOf(undefined), timezone: 'Europe/Berlin'};
const digest = (...mails: DigestMail[]) => ({
  ...{mailbox: 'ann@one.test', mails, others: 0, due_at: '2026-03-29T05:00:00.000Z', id: 'AbC'},
});
const url = 'https://mail.one.test';

test('each mail has its subject, its author, when and why it was held, and a link', t => {
  const {subject, text, html} = digestParts(
    digest(mail(), mail({reason: 'phishing', action: 'request', token: '1-B', subject: ''})),
    settings,
    url,
  );

  t.is(subject, '2 mails are held for you');
  t.regex(
    text.replaceAll('\u200b', ''),
    /Summer sale\nnews@shop\.test\n29 Mar 2026, 01:30, looks like spam\nMore about it, or have it delivered:\nhttps:\/\/mail\.one\.test\/m\/1-A{22}\n/,
  );
  t.regex(
    text,
    /\(no subject\)\n[^\n]+\n[^\n]+may be a fraud\nMore about it, or ask for it:\nhttps:\/\/mail\.one\.test\/m\/1-B\n/,
  );
  t.deepEqual(
    [...html.matchAll(/href="([^"]+)"/g)].map(([, link]) => link),
    ['https://mail.one.test/m/1-AAAAAAAAAAAAAAAAAAAAAA', 'https://mail.one.test/m/1-B'],
  );
});

test('the newest comes first, by the clock of the zone, in the language of the domain', t => {
  const later = mail({subject: 'later', arrived_at: '2026-03-29T01:30:00.000Z'});
  const {subject, text, html} = digestParts(digest(mail(), later), {...settings, language: 'de'}, url);

  t.is(subject, '2 E-Mails an Sie werden zurückgehalten');
  t.true(text.indexOf('later') < text.indexOf('Summer sale'));
  t.regex(text, /29\.03\.2026, 03:30, sieht nach Spam aus/);
  t.regex(html, /<html lang="de">/);
  t.is(digestParts(digest(mail()), {...settings, language: 'de'}, url).subject, 'Eine E-Mail an Sie wird zurückgehalten');
});

test('text of a mail ends no line, is no markup and no link', t => {
  const subject =
    'x\r\n\r\nhttps://evil.test/\u202egnp.exe <a href="https://evil.test">www.evil.test</a> \u{1b}[2J & a@evil.test';
  const {text, html} = digestParts(
    digest(mail({subject, from: ['<script>@evil.test', 'b@"><img src=x>', '"https://evil.test/x"@evil.test']})),
    settings,
    url,
  );

  t.false(/evil\.test|https:\/\/evil|@evil/.test(text), text);
  t.false(/[\u202e\u{1b}\r]/u.test(text + html));
  t.false(/<(?:a href="https:\/\/evil|script|img)/.test(html), html);
  t.deepEqual(
    [...html.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, link]) => link?.startsWith(`${url}/m/`)),
    [true],
  );
  t.true(digestParts(digest(mail({subject: 'long '.repeat(500)})), settings, url).text.length < 1200);
});

test('what has no place is counted', t => {
  const full = {...digest(mail()), others: 30};
  t.regex(digestParts(full, settings, url).text, /\nThe next mail lists 30 more\. Each link is for you alone/);
  t.regex(digestParts(full, {...settings, language: 'de'}, url).html, /30 weitere stehen in der nächsten Übersicht/);
});

test('the mail is that of a machine, with one header for each and parts in the right order', async t => {
  const sent = await digestMail({digest: digest(mail()), settings, url, from: 'quarantine@mail.test', domain: 'one.test'});
  const {headers, from, to, messageId, date, text, html, attachments} = await PostalMime.parse(sent);

  t.is(headers.find(({key}) => key === 'auto-submitted')?.value, 'auto-generated');
  t.like(from, {address: 'quarantine@mail.test', name: ''});
  t.like(to?.[0], {address: 'ann@one.test'});
  t.is(messageId, '<digest.AbC@one.test>');
  t.is(date, '2026-03-29T05:00:00.000Z');
  t.true(text?.includes('Summer sale') && html?.includes('Summer sale'));
  t.deepEqual(attachments, []);
  const raw = sent.toString('latin1');
  t.true(raw.indexOf('text/plain') < raw.indexOf('text/html'));
});

test('it goes to the recipient as the mail has him, without what is behind a plus sign', async t => {
  const to = async (address: string) => {
    const given = digest(mail({address}));
    const sent = await digestMail({digest: given, settings, url, from: 'quarantine@one.test', domain: 'one.test'});
    return (await PostalMime.parse(sent)).to?.[0]?.address;
  };
  t.is(await to('Ann+News@one.test'), 'Ann@one.test');
  t.is(await to('"a+b"@one.test'), 'a@one.test');
  t.is(await to('"a b+c"@one.test'), '"a b"@one.test');
});

test('no subject ends a part: boundaries cannot be known before', async t => {
  const boundaryOf = async () => {
    const sent = await digestMail({digest: digest(mail()), settings, url, from: 'quarantine@one.test', domain: 'one.test'});
    return /boundary="([^"]+)"/.exec(sent.toString('latin1'))?.[1];
  };
  t.not(await boundaryOf(), await boundaryOf());
});

test('an address adds no header field', async t => {
  for (const mailbox of ['"a\r\nBcc: b"@one.test', 'a@one.test>, <b@two.test', 'ä@one.test']) {
    const sent = await digestMail({
      ...{digest: {...digest(mail({address: mailbox})), mailbox}, settings, url},
      ...{from: 'quarantine@one.test', domain: 'one.test'},
    });
    const {headers} = await PostalMime.parse(sent);
    t.deepEqual(
      headers.map(({key}) => key),
      ['auto-submitted', 'from', 'to', 'subject', 'message-id', 'date', 'mime-version', 'content-type'],
      mailbox,
    );
  }
});
