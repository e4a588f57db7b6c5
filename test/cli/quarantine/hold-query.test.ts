import test from 'ava';
import {parametersOf, queryOf} from '../../../cli/quarantine/hold-query.ts';
import {parseQuery, queryFault} from '../../../cli/quarantine/query-line.ts';

const now = Date.parse('2026-03-01T12:00:00.000Z');

const words = {
  ...{domain: 'example.com', sender: '<>', from: 'bank.test', address: 'ceo@bank.test', recipient: 'a@example.com'},
  subject: 'lunch',
  node: 'mx1',
};

test('flags and a line of the dashboard mean the same to the API', t => {
  const times = {since: '2026-03-01T10:00:00.000Z', until: '2026-03-01T11:00:00.000Z'};
  const line =
    'domain:example.com sender:<> from:bank.test address:ceo@bank.test to:a@example.com lunch reason:spam node:mx1 since:2h until:1h score>=6.5 score<=20 requested:yes';

  const ofFlags = parametersOf(queryOf({...words, ...times, reason: 'spam', minScore: 6.5, maxScore: 20, requested: true}), now);
  const ofLine = parametersOf(parseQuery(line), now);

  t.deepEqual(ofFlags, {...words, ...times, reason: 'spam', min_score: '6.5', max_score: '20', requested: 'true'});
  t.deepEqual(ofLine, ofFlags);
});

test('a time that cannot be read is sent as it is: without it, more mail would match', t => {
  t.is(parametersOf({since: '-000001-01-01T00:00:00.000Z'}, now).since, '-000001-01-01T00:00:00.000Z');
});

test('a line that no mail can match is refused, with why', t => {
  for (const [line, fault] of [
    ['score>=5 score<=3', 'score>=5 score<=3: no mail has such a score'],
    ['score>5 score<=5', 'score>5 score<=5: no mail has such a score'],
    ['from:*@x.example', 'from:*@x.example: there are no wildcards here; for all of a domain give x.example'],
    ['from:<>', 'from:<>: bounces have an empty sender: write sender:<>'],
    ['to:“a@x.example”', 'to:“a@x.example”: the quotation marks are a part of it; give a@x.example'],
  ] as const)
    t.is(queryFault(line), fault);
  for (const line of ['score>=5 score<=5', 'from:a@x.example', 'sender:<>']) t.is(queryFault(line), undefined, line);
});

test('a name that every object has is no filter', t => {
  t.throws(() => parseQuery('constructor:x'), {message: /there is no filter constructor/});
});
