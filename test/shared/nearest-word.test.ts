import test from 'ava';
import {begunWord, nearestWord} from '../../shared/nearest-word.ts';

test('a misspelled word is recognised', t => {
  for (const [typed, meant] of [
    ['relese', 'release'],
    ['raelease', 'release'],
    ['discrad', 'discard'],
    ['strat', 'start'],
    ['lst', 'list'],
  ] as const)
    t.is(nearestWord(typed, ['release', 'discard', 'start', 'list', 'ls']), meant, typed);
});

test('what only has another prefix is not taken for a misspelling', t => {
  for (const [typed, other] of [
    ['unjoin', 'join'],
    ['restart', 'start'],
    ['inactive', 'active'],
    ['reactive', 'inactive'],
    ['no-dkim', 'dkim'],
  ] as const) {
    t.is(nearestWord(typed, [other]), undefined, typed);
    t.is(nearestWord(other, [typed]), undefined, other);
  }
});

test('of two words that are as near none is guessed, and of distant ones neither', t => {
  t.is(nearestWord('hold', ['held', 'bold', 'told']), undefined);
  t.is(nearestWord('delete', ['release']), undefined);
  t.is(nearestWord('stop', ['start', 'setup']), undefined);
});

test('the beginning of one word stands for it, and that of two for none', t => {
  t.is(begunWord('quar', ['quarantine', 'key']), 'quarantine');
  t.is(begunWord('sen', ['sender', 'sender-domain']), undefined);
  t.is(begunWord('re', ['release']), undefined);
});
