import test from 'ava';
import {globalFilter} from '../../helpers/cli/sample-answers.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

test('a filter for all domains takes the same options, and is removed with the command that adds it again', async t => {
  const api = await startApi(t, {
    'POST /filters': {status: 201, data: globalFilter},
    'GET /filters': {data: [{...globalFilter, action: 'allow', comment: "it's ours"}]},
    [`DELETE /filters/${globalFilter.id}`]: {data: null},
  });

  const added = await api.mfctl(['filter', 'add', '--score', '-3', '--header', 'List-Id: *news*', '--no-authenticated']);
  const unclear = await api.mfctl(['filter', 'add', '--block']);
  const removed = await api.mfctl(['filter', 'delete', String(globalFilter.id)]);

  t.is(added.code, 0);
  t.deepEqual(JSON.parse(api.requests[0]?.body ?? ''), {
    ...{action: 'score', score: -3, match: 'header', header: 'List-Id', pattern: '*news*', comment: null, authenticated: false},
  });
  t.is(unclear.code, 2);
  t.regex(unclear.stderr, /hint: mfctl filter add --help/);
  t.is(
    removed.stderr,
    `removed filter ${globalFilter.id}\nto add it again: mfctl filter add --allow --sender a@b.example --no-authenticated --comment 'it'\\''s ours'\n`,
  );
});

test('a quotation mark of an editor or an invisible character in a pattern is wrong usage, and no node is asked', async t => {
  const api = await startApi(t, {});

  for (const [option, typed, fault] of [
    ['--sender-domain', '\u201cspam.example\u201d', 'the quotation mark \u201c (U+201C); give the name without it'],
    ['--sender', '\u201ca@x.example\u201d', 'the quotation mark \u201d (U+201D); give the address without it'],
    ['--sender-domain', 'x\u200b.example', 'an invisible character (U+200B); give the name without it'],
  ] as const) {
    const {code, stdout, stderr} = await api.mfctl(['filter', 'add', '--block', option, typed]);
    t.deepEqual([code, stdout], [2, '']);
    t.true(stderr.startsWith(`error: ${option} `) && stderr.includes(fault), stderr);
  }

  t.deepEqual(api.requests, []);
});

test('what became of a domain with other letters than those of DNS is said after the filter', async t => {
  const stored = {...globalFilter, match: 'sender', pattern: 'a@xn--bcher-kva.example'};
  const api = await startApi(t, {'POST /filters': {status: 201, data: stored}});

  const typed = await api.mfctl(['filter', 'add', '--block', '--sender', 'a@b\u00fccher.example']);
  const known = await api.mfctl(['filter', 'add', '--block', '--sender', 'a@xn--bcher-kva.example']);

  t.is(typed.stderr, 'b\u00fccher.example is xn--bcher-kva.example in DNS, and in every list here\n');
  t.is(known.stderr, '');
});
