import test from 'ava';
import {storyOf} from '../../../cli/trace/story.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import {safeBlock} from '../../../shared/safe-text.ts';
import {hostile, mailEvent} from '../../helpers/cli/sample-records.ts';

const plain: MailEvent = {
  ...mailEvent,
  subject: 'Invoice',
  reply: '250 2.0.0 Ok',
  client: {ip: '192.0.2.1', name: 'out.example.net', helo: 'out', tls: true},
};

/** What happened, without times. */
const told = (...events: MailEvent[]): string[] =>
  (storyOf(events).split('\nWhat happened:\n')[1] ?? '')
    .trimEnd()
    .split('\n')
    .map(line => line.slice(24));

test('a mail that was passed on has its sender, what was verified, and the words of the server', t => {
  t.is(
    storyOf([plain]),
    `ID:          mx1/aaaaaa
Domain:      example.com (inbound)
Sender:      news@example.net
From:        ceo@bank.example
Recipients:  a@example.com
             b@example.com
Subject:     Invoice
Message-ID:  4711@news.example
Client:      192.0.2.1, out.example.net, which DNS confirms; called itself out; encrypted
Verified:    SPF pass (example.net), DKIM none, DMARC none (bank.example)
             The mail comes from example.net; bank.example has no DMARC policy.
Size:        2.0 KiB

What happened:
  2026-03-01T09:30:00Z  mx1 passed it on to mail.example.com:25
                        scanner: score 1.5 (LOW)
                        mail.example.com:25 answered: 250 2.0.0 Ok
`,
  );
});

test('a released mail says why it was held, with which key it was released, and what the server answered', t => {
  const held: MailEvent = {...plain, event: 'held', reason: 'spam', server: null, reply: '250 2.0.0 Ok: queued as aaaaaa'};
  const released: MailEvent = {...plain, event: 'released', key_id: 7, key_name: 'helpdesk', message_id: null, took_ms: null};

  t.deepEqual(told(held, released), [
    'mx1 held it for spam',
    'scanner: score 1.5 (LOW)',
    'the sending server was told: 250 2.0.0 Ok: queued as aaaaaa',
    'released with the key helpdesk, and passed on to mail.example.com:25',
    'mail.example.com:25 answered: 250 2.0.0 Ok',
  ]);
  t.deepEqual(told({...released, event: 'discarded', key_name: null, server: null, reply: null}), [
    'discarded with key 7, deleted since: nobody got it',
  ]);
});

test('a refusal names who refused, this node or the server', t => {
  const refused: MailEvent = {...plain, event: 'refused', score: null, authentication: null, reply: '550 5.1.1 No such user'};

  t.deepEqual(told(refused), [
    'mail.example.com:25 refused it: nobody got it, and its sender was told',
    'mail.example.com:25 answered: 550 5.1.1 No such user',
  ]);
  t.deepEqual(told({...refused, server: null}), [
    'mx1 refused it: nobody got it, and its sender was told',
    'the sending server was told: 550 5.1.1 No such user',
  ]);
  t.regex(storyOf([{...refused, queue_id: null}]), /^ID: +none: node mx1 refused it before its content\n/);
});

test('a name that DNS does not confirm is called that, and where nothing is known of it nothing is said', t => {
  const client = {ip: '192.0.2.1', name: null, helo: '', tls: false};

  t.regex(storyOf([{...plain, client}]), /\nClient: +192\.0\.2\.1; no name that DNS confirms; not encrypted\n/);
  t.regex(storyOf([{...plain, client: {...client, tls: null}}]), /\nClient: +192\.0\.2\.1\n/);
});

test('what an entry has beyond the first of them is in the story', t => {
  const sent: MailEvent = {...plain, event: 'sent', recipients: ['b@example.com'], took_ms: 12_300, detail: 'from the log'};

  t.deepEqual(told({...plain, server: null, reply: null}, sent), [
    'mx1 passed it on to Postfix, which delivers it',
    'scanner: score 1.5 (LOW)',
    'Postfix passed it on to mail.example.com:25 (for b@example.com)',
    'mail.example.com:25 answered after 12 s: 250 2.0.0 Ok',
    'from the log',
  ]);
});

test('recipients and symbols that are not named are counted', t => {
  const many: MailEvent = {...plain, event: 'held', reason: 'rbl', recipient_count: 250, symbols: [...'ABCDEFG']};

  t.regex(storyOf([many]), /\n +and 248 others\n/);
  t.is(told(many)[1], 'scanner: score 1.5 (A, B, C, D, E, 2 other symbols)');
});

test('no text of a mail or a server gets through, or begins a line, in any event', t => {
  for (const event of mailEvents) {
    const {authentication} = mailEvent;
    const all: MailEvent = {
      ...{
        ...mailEvent,
        event,
        at: hostile,
        reply: hostile,
        detail: hostile,
        sender: hostile,
        recipients: [hostile],
        from: [hostile],
      },
      ...{message_id: hostile, symbols: [hostile], key_id: 7, key_name: hostile, server: hostile, domain: hostile},
      authentication: authentication && {...authentication, dkim: [{result: 'pass', domain: hostile, selector: hostile}]},
    };
    const story = storyOf([all, {...all, recipients: [`other${hostile}`]}]);

    t.is(safeBlock(story), story, event);
    for (const line of story.trimEnd().split('\n').filter(Boolean))
      t.regex(line, /^(?:[A-Z][\w -]+: {2}|What happened:$| {2})/, event);
  }
});
