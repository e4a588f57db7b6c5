// The crontab line of docs/mfctl.md that puts the configuration under version control, run as cron would.
import {mkdir, readFile, symlink} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import test from 'ava';
import {domain} from '../helpers/cli/sample-records.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';
import {isInstalled} from '../helpers/installed.ts';
import {mfctlFile, runTyped} from '../helpers/program.ts';

const withGit = isInstalled('git') ? test : test.skip;

withGit('the cron line for git commits a first export, a changed one, and nothing in between (needs git)', async t => {
  const [, line = ''] = /^30 3 \* \* \* +(.*domain export.*git.*)$/m.exec(await readFile('docs/mfctl.md', 'utf8')) ?? [];
  let current = domain;
  const api = await startApi(t, {
    'GET /domains': () => ({data: [current]}),
    [`GET /domains/${domain.id}/filters`]: {data: []},
  });
  const [repository, programs] = [join(api.folder, 'config'), join(api.folder, 'bin')];
  await mkdir(programs);
  await symlink(mfctlFile, join(programs, 'mfctl'));
  const author = {GIT_AUTHOR_NAME: 'ops', GIT_AUTHOR_EMAIL: 'ops@example.com', GIT_CONFIG_GLOBAL: '/dev/null'};
  const committer = {GIT_COMMITTER_NAME: 'ops', GIT_COMMITTER_EMAIL: 'ops@example.com', GIT_CONFIG_NOSYSTEM: '1'};
  const env = {...api.env, ...author, ...committer, PATH: `${programs}:${dirname(process.execPath)}:${process.env.PATH}`};
  const git = (...args: string[]) => runTyped('git', args, {env});
  await git('init', '-q', repository);
  const asCron = async () => {
    t.true(line.includes('/srv/mail-config'), 'docs/mfctl.md has no such line');
    const ran = await runTyped('/bin/sh', ['-c', line.replace('/srv/mail-config', repository)], {env});
    const log = await git('-C', repository, 'log', '--format=%s', '--', 'domains.yaml');
    return {...ran, commits: log.stdout.split('\n').filter(subject => subject !== '').length};
  };

  const first = await asCron();
  const unchanged = await asCron();
  current = {...domain, reject_threshold: 12};
  const changed = await asCron();

  t.like(first, {code: 0, stderr: '', commits: 1});
  t.like(unchanged, {code: 0, stderr: '', commits: 1});
  t.like(changed, {code: 0, stderr: '', commits: 2});
});
