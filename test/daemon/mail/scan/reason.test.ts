import test from 'ava';
import fc from 'fast-check';
import {reasonOf} from '../../../../daemon/mail/scan/reason.ts';
import type {SymbolScore} from '../../../../shared/held-mail.ts';

const symbols = (scores: Record<string, number>): SymbolScore[] => Object.entries(scores).map(([name, score]) => ({name, score}));

test('a virus outweighs everything', t => {
  t.is(reasonOf(symbols({CLAM_VIRUS: 0.1, PHISHING: 9, URIBL_BLACK: 7})), 'sandbox');
  t.is(reasonOf(symbols({OLETOOLS: 1, BAYES_SPAM: 5})), 'sandbox');
  t.is(reasonOf(symbols({DCC_REJECT: 2})), 'sandbox');
});

test('phishing outweighs lists and spam', t => {
  t.is(reasonOf(symbols({PHISHED_OPENPHISH: 0.5, URIBL_BLACK: 7, BAYES_SPAM: 9})), 'phishing');
  t.is(reasonOf(symbols({PH_SURBL_MULTI: 5.5})), 'phishing');
});

test('lists are the reason when theirs is the largest share', t => {
  t.is(reasonOf(symbols({RBL_SPAMHAUS_SBL: 4, URIBL_BLACK: 2, BAYES_SPAM: 5.1})), 'rbl');
  t.is(reasonOf(symbols({RBL_SPAMHAUS_SBL: 4, BAYES_SPAM: 5.1})), 'spam');
  t.is(reasonOf(symbols({RCVD_IN_PBL: 3, HTML_MESSAGE: 1})), 'rbl');
});

test('a symbol of zero or less is no reason', t => {
  t.is(reasonOf(symbols({CLAM_VIRUS: 0, PHISHED_WHITELISTED: -1, RCVD_IN_DNSWL_HI: -5, BAYES_SPAM: 5})), 'spam');
  t.is(reasonOf([]), 'spam');
  t.is(reasonOf(symbols({GTUBE: 10})), 'spam');
});

test('a group tells of a symbol the operator named', t => {
  t.is(reasonOf(symbols({OUR_SCANNER: 8}), {antivirus: 8}), 'sandbox');
  t.is(reasonOf(symbols({OUR_FEED: 8}), {phishing: 8}), 'phishing');
  t.is(reasonOf(symbols({OUR_LIST: 8, BAYES_SPAM: 5}), {rbl: 8, statistics: 5}), 'rbl');
  t.is(reasonOf(symbols({OUR_LIST: 4, BAYES_SPAM: 5}), {rbl: 4, statistics: 5}), 'spam');
});

test('a symbol tells what a whitelisting symbol of its group hides', t => {
  t.is(reasonOf(symbols({RBL_SPAMHAUS_SBL: 4, RCVD_IN_DNSWL_HI: -4, BAYES_SPAM: 3}), {rbl: 0, statistics: 3}), 'rbl');
});

test('a list’s second group does not compete with the lists', t => {
  t.is(reasonOf(symbols({RBL_SPAMHAUS_SBL: 4, DBL_SPAM: 6.5}), {rbl: 4, surbl: 6.5, spamhaus: 10.5}), 'rbl');
});

test('whatever the names and scores, a reason comes of it, and no positive score means spam', t => {
  const anySymbols = fc.array(
    fc.record({name: fc.oneof(fc.string(), fc.constantFrom('PHISHING', 'ICAP', 'RBL_X', '__proto__')), score: fc.double()}),
  );
  fc.assert(
    fc.property(anySymbols, fc.dictionary(fc.string(), fc.double()), (list, groups) => {
      t.true(['spam', 'phishing', 'sandbox', 'rbl'].includes(reasonOf(list, groups)));
      t.is(reasonOf(list.map(({name, score}) => ({name, score: -Math.abs(score)}))), 'spam');
    }),
  );
});
