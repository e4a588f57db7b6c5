import test from 'ava';
import {validate} from '../../../daemon/services/validate.ts';
import {createApiKeySchema} from '../../../shared/api-key.ts';
import {createDomainSchema} from '../../../shared/domain.ts';
import {Fault} from '../../../shared/fault.ts';
import {bulkRequestSchema} from '../../../shared/held-mail.ts';

/** Values that JSON permits as a length, and that cannot be compared with a number. */
const incomparable: object[] = [{toString: 1}, {toString: null, valueOf: null}];

test('whatever a body calls its length, it is told what is wrong', t => {
  for (const length of incomparable)
    for (const [schema, body] of [
      [bulkRequestSchema, {items: {length}}],
      [createApiKeySchema, {name: {length}, scope: 'read-only'}],
      [createDomainSchema, {name: {length}, backend_servers: {length}}],
    ] as const) {
      const fault = t.throws(() => validate(schema, body), {instanceOf: Fault});

      t.is(fault?.code, 'validation_failed');
      t.regex(fault?.detail ?? '', /an object where a text or a list is expected/);
    }
});

test('a new domain whose name has quotes, blanks or hidden characters is refused, and told which', t => {
  for (const [name, detail] of [
    ['\u201cexample.org\u201d', 'name has the quotation mark \u201c (U+201C); give the name without it'],
    [' example.org', 'name has a blank (U+0020); give the name without it'],
    ['example.org\u200b', 'name has an invisible character (U+200B); give the name without it'],
  ] as const)
    t.is(t.throws(() => validate(createDomainSchema, {name, direction: 'outbound'}), {instanceOf: Fault})?.detail, detail);
});
