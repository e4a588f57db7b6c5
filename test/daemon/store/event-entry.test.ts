import test from 'ava';
import type {NewMailEvent} from '../../../daemon/services/events/mail-event.ts';
import {readEntry, writeEntry} from '../../../daemon/store/sql/event-entry.ts';

/** All that strangers decide, as much of it as they like. */
const worst = (character: string): NewMailEvent => {
  const text = (n = 0) => `${n}${character.repeat(70_000)}`;
  const texts = (count: number) => Array.from({length: count}, (_, n) => text(n));
  return {
    event: 'held',
    at: '2026-03-01T00:00:00.000Z',
    queue_id: 'Q'.repeat(64),
    direction: 'outbound',
    domain: text(),
    domain_id: Number.MAX_SAFE_INTEGER,
    sender: text(),
    recipients: texts(1000),
    from: texts(50),
    subject: text(),
    message_id: text(),
    client: {ip: text(), name: text(), helo: text(1), tls: false},
    size_bytes: Number.MAX_SAFE_INTEGER,
    score: -1234.5678,
    reason: 'phishing',
    symbols: texts(500),
    authentication: {
      spf: {result: 'permerror', domain: text()},
      dkim: texts(100).map(domain => ({result: 'temperror' as const, domain, selector: domain})),
      dmarc: {result: 'temperror', policy: 'quarantine', domain: text()},
      arc: {result: 'none'},
    },
    reply: text(),
    server: text(),
    took_ms: Number.MAX_SAFE_INTEGER,
    key_id: Number.MAX_SAFE_INTEGER,
    detail: text(),
    recipients_left: 3,
  };
};

for (const [name, character] of Object.entries({
  letter: 'x',
  'quotation mark': '"',
  'control character': '\u0001',
  umlaut: 'ü',
  'character of a supplementary plane': '\u{1F4E7}',
  'half of a pair': '\ud83d',
  'character 0': '\0',
}))
  test(`an entry has at most 28 KB, whatever a mail says, and whole characters: ${name}`, t => {
    const entry = writeEntry(worst(character));

    t.true(Buffer.byteLength(entry) < 28_000, `${Buffer.byteLength(entry)}`);
    t.notRegex(entry, /\\u(0000|d[89a-f])/);
    t.is(readEntry(entry).recipient_count, 1000);
    t.is(readEntry(entry).symbols.at(-1), '…');
  });

test('an entry that was cut is written again as it is', t => {
  for (const character of ['x', '"', 'ü', '\u{1F4E7}']) {
    const entry = writeEntry(worst(character));

    t.is(writeEntry({...readEntry(entry), at: ''}), entry);
  }
});

test('what honest mail says is kept whole', t => {
  const recipients = Array.from({length: 100}, (_, n) => `first.last-name-${n}@department.test`);
  const given = {
    ...worst('x'),
    ...{
      domain: 'd.test',
      sender: `${'a'.repeat(64)}@${'b'.repeat(250)}.test`,
      recipients,
      from: ['a@b.test'],
      subject: 's'.repeat(200),
    },
    ...{message_id: 'm'.repeat(998), client: {ip: '::1', name: 'n', helo: `${'h'.repeat(250)}.test`, tls: true}},
    ...{symbols: Array.from({length: 100}, (_, n) => `SOME_LONG_SYMBOL_OF_RSPAMD_${n}`), reply: `250 ${'r'.repeat(500)}`},
    ...{authentication: null, server: 'mx.test:25', detail: ''},
  };

  const {at, ...entry} = {...given, recipient_count: 100};
  t.deepEqual(readEntry(writeEntry(given)), entry);
});
