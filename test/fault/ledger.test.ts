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

test('a second delivery is right for each time that the node died between the first one and its row, and no more', t => {
  const ledger = createLedger();
  ledger.sending({token: 'one', raw: ''});
  ledger.accepted('one', 'Q1', 'alpha');
  ledger.acting('Q1', 'release');
  const twice = {...nothing, delivered: ['one', 'one']};

  ledger.died(['alpha'], []);
  t.is(ledger.judge(twice).length, 1, 'it had not been delivered when the node died');
  ledger.died(['beta'], ['one']);
  t.is(ledger.judge(twice).length, 1, 'another node died');
  ledger.died(['alpha'], ['one']);
  ledger.died(['alpha'], ['one']);
  t.deepEqual(ledger.judge(twice), []);
  t.is(ledger.judge({...nothing, delivered: ['one', 'one', 'one']}).length, 1);
  t.is(ledger.counts.doubled, 2);

  ledger.acted('Q1', 'release');
  ledger.died(['alpha'], ['one', 'one']);
  t.is(ledger.judge({...nothing, delivered: ['one', 'one', 'one']}).length, 1, 'its end was acknowledged before');
});

test('a mail that was sent again without an answer may be there once more, and one that was listed has to stay', t => {
  const again = (ledger: Ledger) => {
    ledger.sending({token: 'one', raw: ''});
    ledger.listed([...held('Q1').map(mail => ({...mail, subject: 'one'}))]);
    return ledger;
  };
  const both = held('Q1', 'Q2').map(mail => ({...mail, subject: 'one'}));

  t.is(again(createLedger()).judge(nothing).length, 1);
  const ledger = again(createLedger());
  t.deepEqual(ledger.judge({...nothing, held: both.slice(0, 1)}), []);
  ledger.listed(both);
  t.is(ledger.judge({...nothing, held: both}).length, 1, 'sent once');
  ledger.sending({token: 'one', raw: ''});
  t.deepEqual(ledger.judge({...nothing, held: both}), []);
  t.is(ledger.judge({...nothing, held: [...both, {queue_id: 'Q3', subject: 'two'}]}).length, 1, 'never sent');
});

test('what is to be held is delivered only when it is released, what is relayed as often as it was sent', t => {
  const ledger = createLedger();
  ledger.sending({token: 'one', raw: '', isToBeHeld: true});
  ledger.sending({token: 'two', raw: ''});

  t.is(ledger.judge({...nothing, delivered: ['one']}).length, 1);
  t.is(ledger.judge({...nothing, delivered: ['two', 'two']}).length, 1);
  ledger.sending({token: 'two', raw: ''});
  t.deepEqual(ledger.judge({...nothing, delivered: ['two', 'two']}), []);
});

test('a record that was acknowledged is there until its end is asked for, and not after it was acknowledged', t => {
  const ledger = createLedger();
  const judged = (...good: string[]) => ledger.judge({...nothing, records: new Map(good.map(name => [name, true]))});

  ledger.making('key');
  t.deepEqual([judged(), judged('key')], [[], []]);
  ledger.made('key');
  t.is(judged().length, 1);
  ledger.ending('key');
  t.deepEqual([judged(), judged('key')], [[], []]);
  ledger.ended('key');
  t.deepEqual(judged(), []);
  t.is(judged('key').length, 1);
  t.is(judged('other').length, 1, 'nobody asked for it');
});
