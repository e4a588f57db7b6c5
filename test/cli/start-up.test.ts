// Cost of starting mfctl: the files that it reads.
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import manifest from '../../package.json' with {type: 'json'};
import {mail} from '../helpers/cli/sample-records.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';
import {mfctlFile, mfdFile, run} from '../helpers/program.ts';

const folder = new URL('../../dist/', import.meta.url);
const dist = async (name: RegExp): Promise<string> => {
  const files = JSON.parse(await readFile(new URL('files.json', folder), 'utf8')) as string[];
  return readFile(new URL(files.find(file => name.test(file)) ?? '', folder), 'utf8');
};

test('ink and react are in the bundle of the dashboard, and not in that of the commands', async t => {
  const drawing = /react-reconciler|yoga-layout/;

  t.notRegex(await dist(/^mfctl\.cjs$/), drawing);
  t.regex(await dist(/^mfctl-dashboard-\w+\.js$/), drawing);
});

test('quarantine list does not load the dashboard', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail]}});
  const [recorder, record] = [join(api.folder, 'recorder.cjs'), join(api.folder, 'loaded')];
  await writeFile(
    recorder,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(record)}, Object.keys(require.cache).join('\\n')));`,
  );

  const {code, stdout} = await run(mfctlFile, ['quarantine', 'list'], {env: {...api.env, NODE_OPTIONS: `--require ${recorder}`}});

  t.is(code, 0);
  t.regex(stdout, /mx1\/aaaaaa/);
  const loaded = await readFile(record, 'utf8');
  t.regex(loaded, /recorder\.cjs/);
  t.notRegex(loaded, /dashboard/);
});

test('both programs print their version with -V and --version', async t => {
  for (const flag of ['-V', '--version']) {
    t.deepEqual(await run(mfctlFile, [flag]), {code: 0, stdout: `mfctl ${manifest.version}\n`, stderr: ''});
    t.like(await run(mfdFile, [flag]), {code: 0, stdout: `${manifest.version}\n`});
  }
});
