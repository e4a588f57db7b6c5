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
