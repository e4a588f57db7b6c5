import {isUtf8} from 'node:buffer';
import test from 'ava';
import fc from 'fast-check';
import {bytesOf, toByteText} from '../../../../daemon/services/quarantine/byte-text.ts';
import {
  createReadHeldAnswer,
  createReadHeldRows,
  heldRowOf,
  heldRowsAnswer,
} from '../../../../daemon/services/quarantine/held-rows.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {reasons} from '../../../../shared/reason.ts';

const mail: HeldMail = {
  node_id: 'beta.one-2',
  queue_id: 'Q1w2E3r4T5',
  sender: 'ada@example.net',
  recipients: ['ben@example.com', 'eve@example.com'],
  subject: 'Straße "quoted" \\ ]},{',
  score: -8.25,
  symbols: ['A_SYMBOL', 'B'],
  reason: 'rbl',
  size_bytes: 1234,
  arrived_at: '2026-03-01T09:30:00.000Z',
};

const read = createReadHeldRows(mail.node_id);
const readBytes = createReadHeldAnswer(mail.node_id);
const readAnswer = (text: string) => readBytes(Buffer.from(text));
const schema = heldRowsAnswer(mail.node_id);

const envelope = (data: unknown) => JSON.stringify({data, error: null, message: 'OK'});
const answerWith = (mails: unknown[], total: unknown = mails.length) => envelope({mails, total});

const anyMail: fc.Arbitrary<HeldMail> = fc.record({
  node_id: fc.constant(mail.node_id),
  queue_id: fc.stringMatching(/^[0-9A-Za-z]{6,64}$/),
  sender: fc.string({unit: 'binary'}),
  recipients: fc.array(fc.string({unit: 'binary'}), {maxLength: 3}),
  subject: fc.string({unit: 'binary'}),
  score: fc.integer({min: -100_000, max: 100_000}).map(tenths => tenths / 10),
  symbols: fc.array(fc.string(), {maxLength: 3}),
  reason: fc.constantFrom(...reasons),
  size_bytes: fc.nat(),
  arrived_at: fc
    .date({min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true})
    .map(at => at.toISOString()),
});

test('every list of held mails is read as the schema reads it', t => {
  const every = fc.property(fc.array(anyMail, {maxLength: 4}), mails => {
    const text = answerWith(mails);

    const quick = readAnswer(text);

    const slow = schema.parse((JSON.parse(text) as {data: unknown}).data);
    // The 29th of February is left to the schema.
    const isLeft = mails.some(({arrived_at}) => arrived_at.slice(5, 10) === '02-29');
    if (isLeft) t.is(quick, undefined);
    else t.deepEqual(quick, slow);
    t.deepEqual(slow.mails, mails.map(heldRowOf));
  });

  t.notThrows(() => fc.assert(every, {numRuns: 300}));
});

test('the rows of the database, with escapes and numbers of its own, keep the form they have', t => {
  const row = JSON.stringify(mail).replace('-8.25', '1.0e-07').replace('Straße', String.raw`Stra\u00dfe\/`);

  const found = read(toByteText(`${'x'.repeat(7)}[${row},${row}] and more`), 7);

  t.is(found?.rows[1]?.json, toByteText(row));
  t.is(found?.end, 7 + 2 * toByteText(row).length + 3);
});

const broken: [title: string, change: object][] = [
  ['of another node', {node_id: 'betaxone-2'}],
  ['whose id is a path', {queue_id: '../../etc'}],
  ['whose id is too long', {queue_id: 'a'.repeat(65)}],
  ['without a sender', {sender: undefined}],
  ['whose sender is none', {sender: null}],
  ['with a recipient that is a number', {recipients: [1]}],
  ['with recipients that are a text', {recipients: 'ben@example.com'}],
  ['with a subject that is an object', {subject: {toString: 'x'}}],
  ['whose score is a text', {score: '8'}],
  ['whose score is none', {score: null}],
  ['with symbols in symbols', {symbols: [['A']]}],
  ['for a reason that there is not', {reason: 'because'}],
  ['of half a byte', {size_bytes: 0.5}],
  ['that arrived on a day that there is not', {arrived_at: '2026-02-30T09:30:00.000Z'}],
  ['that arrived at no time', {arrived_at: 'yesterday'}],
];

for (const [title, change] of broken)
  test(`a list with a held mail ${title} is read by nobody`, t => {
    const text = answerWith([mail, {...mail, ...change}]);

    t.is(readAnswer(text), undefined);
    t.false(schema.safeParse((JSON.parse(text) as {data: unknown}).data).success);
  });

test('what is written in another way, or says more, is left to the schema, which lets nothing through that it does not know', t => {
  const spaced = JSON.stringify({data: {mails: [mail], total: 1}, error: null, message: 'OK'}, null, 1);
  const more = answerWith([{...mail, extra: '<b>'}]);
  const {node_id, ...rest} = mail;
  const turned = answerWith([{...rest, node_id}]);

  for (const text of [spaced, more, turned]) {
    t.is(readAnswer(text), undefined);
    t.deepEqual(
      schema
        .parse((JSON.parse(text) as {data: unknown}).data)
        .mails.map(({json}) => JSON.parse(bytesOf(json).toString()) as unknown),
      [mail],
    );
  }
});

test('a list that is broken off, goes on behind its end or has a total that is none is not read quickly', t => {
  const whole = answerWith([mail, mail]);

  const cuts = Array.from({length: whole.length}, (_, length) => readAnswer(whole.slice(0, length)));

  t.true(cuts.every(cut => cut === undefined));
  for (const text of [`${whole} `, answerWith([mail], -1), answerWith([mail], '1'), answerWith([mail], 1e300)])
    t.is(readAnswer(text), undefined);
  const one = JSON.stringify(mail);
  for (const between of ['', ',,', ';', ', ', '],['])
    t.is(readAnswer(whole.replace(`${one},${one}`, () => `${one}${between}${one}`)), undefined);
  t.is(readAnswer(whole.replace('}],', '},],')), undefined);
});

test('a text that is nothing but escapes does not break the reading, however long it is', t => {
  const [long, endless] = [1_900_000, 20_000_000].map(length => answerWith([{...mail, subject: '\\'.repeat(length)}]));

  t.is(readAnswer(long ?? '')?.mails.length, 1);
  t.is(readAnswer(endless ?? ''), undefined);
});

test('bytes that are no UTF-8 are left to the schema, which reads them as characters that nobody wrote', t => {
  const bytes = Buffer.from(answerWith([mail]));
  const [first, second] = [bytes.indexOf('ß'), bytes.indexOf('ß') + 1];

  for (const [at, byte] of [
    [first, 0xff],
    [second, 0x20],
    [second, 0xc3],
  ] as const) {
    const broken = Buffer.from(bytes);
    broken[at] = byte;
    t.is(readBytes(broken), undefined);
    const {data} = JSON.parse(broken.toString()) as {data: unknown};
    const [{json} = {json: toByteText('')}] = schema.parse(data).mails;
    t.true(isUtf8(bytesOf(json)));
  }
});
