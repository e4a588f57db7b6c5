import test from 'ava';
import {createLedger, type Found, type Ledger} from './ledger.ts';

const nothing: Found = {held: [], delivered: [], values: new Map()};
const held = (...ids: string[]) => ids.map(id => ({queue_id: id, subject: id}));

const withMail = (queueId?: string): Ledger => {
  const ledger = createLedger();
  ledger.sending({token: 'one', raw: 'Subject: one\r\n\r\n'});
  if (queueId) ledger.accepted('one', queueId);
  return ledger;
};

test('a mail that was acknowledged and is nowhere is lost, one that was not is not', t => {
  t.is(withMail('Q1').judge(nothing).length, 1);
  t.deepEqual(withMail('Q1').judge({...nothing, held: held('Q1')}), []);
  t.deepEqual(withMail().judge(nothing), []);
});

test('a mail that is listed twice, or held after its end, is a violation', t => {
  t.is(withMail('Q1').judge({...nothing, held: held('Q1', 'Q1')}).length, 1);

  const ledger = withMail('Q1');
  ledger.acting('Q1', 'discard');
  ledger.acted('Q1', 'discard');
  t.is(ledger.judge({...nothing, held: held('Q1')}).length, 1);
  t.deepEqual(ledger.judge(nothing), []);
});

test('a release is delivered once, and twice only where that is allowed', t => {
  const ledger = withMail('Q1');
  ledger.acting('Q1', 'release');
  t.is(ledger.judge(nothing).length, 1, 'gone, and delivered to nobody');
  t.deepEqual(ledger.judge({...nothing, held: held('Q1')}), [], 'not done yet');
  ledger.acted('Q1', 'release');

  t.is(ledger.judge(nothing).length, 1);
  t.deepEqual(ledger.judge({...nothing, delivered: ['one']}), []);
  t.is(ledger.judge({...nothing, delivered: ['one', 'one']}).length, 1);
  t.deepEqual(
    ledger.judge({...nothing, delivered: ['one', 'one']}, () => true),
    [],
  );
});

test('what was relayed is delivered, and what was delivered was sent', t => {
  const ledger = withMail();
  ledger.relayed('one');

  t.is(ledger.judge(nothing).length, 1);
  t.deepEqual(ledger.judge({...nothing, delivered: ['one']}), []);
  t.is(ledger.judge({...nothing, delivered: ['one', 'two']}).length, 1);
});

test('a value is between what was acknowledged and what was asked for', t => {
  const ledger = createLedger();
  ledger.changing('tenant', 1);
  ledger.changed('tenant', 1);
  ledger.changing('tenant', 2);

  const judged = (value?: number) => ledger.judge({...nothing, values: new Map(value === undefined ? [] : [['tenant', value]])});
  t.is(judged().length, 1);
  t.is(judged(0).length, 1);
  t.deepEqual(judged(1), []);
  t.deepEqual(judged(2), []);
  t.is(judged(3).length, 1);
});
