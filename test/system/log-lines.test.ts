// Format of a node's log, for programs that read it and for the journal.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {open, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {makeNode, nodeFolder} from '../helpers/node.ts';
import {cleanEnvironment, mfdFile} from '../helpers/program.ts';
import {hasScript, runInTerminal} from '../helpers/pseudo-terminal.ts';

interface Started {
  /** Resolves with all of standard error. */
  log(): Promise<string>;
  end(): Promise<void>;
}

/** Uses a file for standard error; `streamOf` makes JOURNAL_STREAM of its device and inode. */
const start = async (t: ExecutionContext, data: string, streamOf: (file: string) => string): Promise<Started> => {
  const path = `${data}.log`;
  const file = await open(path, 'w');
  const {dev, ino} = await file.stat({bigint: true});
  const env = {...cleanEnvironment(), MFD_NO_SUCH_KEY: '1', JOURNAL_STREAM: streamOf(`${dev}:${ino}`)};
  const child = spawn(process.execPath, [mfdFile, 'start', '--data', data], {env, stdio: ['ignore', 'ignore', file.fd]});
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await file.close();
  return {
    log: async () => readFile(path, 'utf8'),
    async end() {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

const arrange = async (t: ExecutionContext): Promise<string> => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  return (await makeNode(['init', '--data', join(root, 'data')], {env: {XDG_CONFIG_HOME: xdgConfigHome}})).data;
};

const linesOf = (log: string): string[] => log.trimEnd().split('\n');

test('a level is a word, and a line nothing but JSON where no journal reads it', async t => {
  const data = await arrange(t);
  // The value of a service that has redirected its standard error.
  const node = await start(t, data, () => '1:1');

  await eventually(async () => (await node.log()).includes('reconciled'));
  await node.end();

  const lines = linesOf(await node.log()).map(line => JSON.parse(line) as {level: string; time: string; msg: string});
  t.like(
    lines.find(({msg}) => msg.includes('names no configuration key')),
    {level: 'warn', variable: 'MFD_NO_SUCH_KEY'},
  );
  t.like(
    lines.find(({msg}) => msg === 'stopped'),
    {level: 'info'},
  );
  for (const {time} of lines) t.is(new Date(time).toISOString(), time);
});

test('for the journal each line begins with its priority', async t => {
  const data = await arrange(t);
  const node = await start(t, data, stream => stream);

  await eventually(async () => (await node.log()).includes('reconciled'));
  await node.end();

  const lines = linesOf(await node.log());
  const priorities = {warn: '<4>', info: '<6>'};
  for (const line of lines) {
    const {level} = JSON.parse(line.slice(3)) as {level: keyof typeof priorities};
    t.is(line.slice(0, 3), priorities[level], line);
  }
  t.true(lines.some(line => line.startsWith('<4>')) && lines.some(line => line.startsWith('<6>')));
});

test('the line of a start that fails is an error to the journal', async t => {
  const data = await arrange(t);
  await writeFile(join(data, 'mfd.yaml'), 'no_such_key: 1\n');
  const node = await start(t, data, stream => stream);

  await eventually(async () => (await node.log()).endsWith('\n'));

  t.is(await node.log(), `<3>mfd: ${data}/mfd.yaml:1: no_such_key is not a known key; correct or remove it\n`);
});

(hasScript ? test : test.skip)(
  'on a terminal the lines of mfd start are for people, unless log.format says json (needs script)',
  async t => {
    const data = await arrange(t);
    const startOn = async (env: Record<string, string> = {}) => {
      const {output} = await runInTerminal(mfdFile, ['start', '--data', data], {env, answer: {to: 'mfd ready', keys: '\x03'}});
      return output.toString().split(/\r?\n/);
    };

    const text = await startOn();
    const json = await startOn({MFD_LOG_FORMAT: 'json'});

    t.true(
      text.some(line => /^\d\d:\d\d:\d\d info {2}stopped$/.test(line)),
      text.join('\n'),
    );
    t.false(text.some(line => line.startsWith('{')));
    t.true(
      json.some(line => line.startsWith('{"level":"info"') && line.includes('"msg":"stopped"')),
      json.join('\n'),
    );
  },
);
