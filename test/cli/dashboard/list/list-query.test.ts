import test from 'ava';
import {completedQuery, hasWords, parseListFilter} from '../../../../cli/dashboard/list/list-query.ts';

test('a term is only what begins with a known name', t => {
  t.like(parseListFilter(' type:held  Invoice since: http://x ', ['type', 'since']), {
    text: 'type:held  Invoice since: http://x',
    terms: {type: 'held'},
    words: ['invoice', 'since:', 'http://x'],
  });
});

test('all words have to be there, each anywhere', t => {
  t.true(hasWords(['Invoice 40', null, 'mx1'], ['invoice', 'mx']));
  t.false(hasWords(['Invoice 40', null, 'mx1'], ['invoice', 'mx2']));
});

test('tab goes through names, then through the values that have been seen', t => {
  const values = {type: ['held', 'health', 'held'], node: ['mx1']};

  t.deepEqual(completedQuery('words t', values), ['words type:']);
  t.deepEqual(completedQuery('words type:he', values), ['words type:health', 'words type:held']);
});

test('a name that every object has is no name of a value', t => {
  t.deepEqual(completedQuery('constructor:x', {type: ['held']}), []);
});
