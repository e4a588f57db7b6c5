// Tests of the memory judge of the hostile faults, on processes that leak and on one that only produces garbage.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import test, {type ExecutionContext} from 'ava';
import {cleanEnvironment} from '../helpers/program.ts';
import {judgeMemory} from './memory-judge.ts';
import {createMemoryProbe} from './memory-probe.ts';

/** Runs `work` for every byte that it reads, and answers it. Values in `kept` are never released. */
const server = (work: string) => `
  const kept = [];
  const work = () => { ${work} };
  process.stdin.on('data', bytes => {
    for (const _ of bytes) work();
    process.stdout.write(bytes);
  });
`;

const inWorker = (work: string) => `
  const {Worker} = require('node:worker_threads');
  const thread = new Worker(${JSON.stringify(`
    const kept = [];
    require('node:worker_threads').parentPort.on('message', ({bytes}) => {
      for (const _ of bytes) { ${work} }
      require('node:worker_threads').parentPort.postMessage(bytes);
    });
  `)}, {eval: true});
  process.stdin.on('data', bytes => thread.postMessage({bytes}));
  thread.on('message', bytes => process.stdout.write(bytes));
`;

/** Sends many requests to the process, and asks the judge before and after most of them. */
const judged = async (t: ExecutionContext, script: string): Promise<{isFlat: boolean; text: string}> => {
  const probe = await createMemoryProbe(t);
  const child = spawn(process.execPath, ['-e', script], {
    env: {...cleanEnvironment(), ...probe.env},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
  });
  let answered = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    answered += bytes.length;
  });
  const ask = async (times: number): Promise<void> => {
    const wanted = answered + times;
    child.stdin.write('x'.repeat(times));
    while (answered < wanted) await once(child.stdout, 'data');
  };

  await ask(100);
  // No memory is released late here: the judge need not wait.
  const judge = await judgeMemory(async () => probe.heldMebibytes(child.pid ?? 0), 0);
  await ask(400);
  return {isFlat: await judge.isFlat(), text: judge.text()};
};

const garbage = "for (let n = 0; n < 20; n += 1) [...'x'.repeat(5000)]; Buffer.alloc(200_000).fill(1);";

test('a process that makes much garbage and keeps none of it is flat', async t => {
  const {isFlat, text} = await judged(t, server(garbage));

  t.true(isFlat, text);
});

test('a process that keeps a little of each request is not, whatever garbage it makes beside it', async t => {
  const {isFlat, text} = await judged(t, server(`${garbage} kept.push(Array.from({length: 2000}, Math.random));`));

  t.false(isFlat, text);
});

test('neither is one that keeps it outside of its heap', async t => {
  const {isFlat, text} = await judged(t, server(`${garbage} kept.push(Buffer.alloc(20_000).fill(1));`));

  t.false(isFlat, text);
});

test('neither is one of which a thread keeps it', async t => {
  const {isFlat, text} = await judged(t, inWorker('kept.push(Array.from({length: 2000}, Math.random));'));

  t.false(isFlat, text);
});

test('a process that cannot be measured is not taken for one that holds nothing', async t => {
  const probe = await createMemoryProbe(t);

  await t.throwsAsync(async () => probe.heldMebibytes(process.pid), {message: /was not started with the environment/});
});
