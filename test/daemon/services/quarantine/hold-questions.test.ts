import test from 'ava';
import {holdListQuestions} from '../../../../daemon/services/quarantine/hold-questions.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';

test('a peer may ask for marks of a list that is far too long, but not for so many that they cannot be counted', t => {
  const ask = (steps: object) =>
    holdListQuestions.samples.request.safeParse({filter: {}, steps: {offset: 0, stride: 1, limit: 10_000, ...steps}}).success;

  t.true(ask({stride: 1e11, offset: 1e11}));
  t.false(ask({stride: 2 ** 52}));
  t.false(ask({offset: 2 ** 52}));
  t.false(ask({stride: 0}));
});

const mail: HeldMail = {
  node_id: 'beta.one-2',
  queue_id: 'Q1w2E3r4T5',
  sender: 'ada@example.net',
  from: ['ada@example.net'],
  recipients: ['ben@example.com', 'eve@example.com'],
  subject: 'Straße "quoted" \\ ]},{',
  score: -8.25,
  symbols: ['A_SYMBOL', 'B'],
  reason: 'rbl',
  size_bytes: 1234,
  arrived_at: '2026-03-01T09:30:00.000Z',
  release_requested: false,
};

const broken: [title: string, change: object][] = [
  ['of another node', {node_id: 'betaxone-2'}],
  ['whose id is a path', {queue_id: '../../etc'}],
  ['whose id is too long', {queue_id: 'a'.repeat(65)}],
  ['without a sender', {sender: undefined}],
  ['with a recipient that is a number', {recipients: [1]}],
  ['with recipients that are a text', {recipients: 'ben@example.com'}],
  ['with a subject that is an object', {subject: {toString: 'x'}}],
  ['whose score is a text', {score: '8'}],
  ['with symbols in symbols', {symbols: [['A']]}],
  ['for an unknown reason', {reason: 'because'}],
  ['of half a byte', {size_bytes: 0.5}],
  ['that arrived on the 30th of February', {arrived_at: '2026-02-30T09:30:00.000Z'}],
];

for (const [title, change] of broken)
  test(`a peer's list with a held mail ${title} is refused`, t => {
    const list = holdListQuestions.list.answer(mail.node_id);
    const answer = (mails: object[]) => list.safeParse({mails, total: 2});

    t.true(answer([mail, mail]).success);
    t.false(answer([mail, {...mail, ...change}]).success);
  });

test('what a peer of a newer version says beyond what is known of a held mail is left out', t => {
  const list = holdListQuestions.list.answer(mail.node_id);

  const {mails} = list.parse({mails: [{...mail, extra: '<b>'}], total: 1, more: true});

  t.deepEqual(mails, [mail]);
});

test('a peer of an earlier version does not say who the author is, and a question about it is not one that it may ignore', t => {
  const {from: _, ...earlier} = mail;

  const {mails} = holdListQuestions.list.answer(mail.node_id).parse({mails: [earlier], total: 1});

  t.deepEqual(mails, [{...mail, from: null}]);
  const asked = {filter: {from: 'bank.test', address: 'ceo@bank.test'}, page: {limit: 1, offset: 0}};
  t.true(holdListQuestions.list.request.safeParse(asked).success);
  t.false(holdListQuestions.list.request.safeParse({...asked, filter: {...asked.filter, later: 'x'}}).success);
});
