// One process that reads what strangers wrote: it is started so that it can do nothing else, and killed when it is not needed.
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import type {Readable} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {childEnvironment} from '../../../shared/child-environment.ts';
import {createFrameReader, writeFrame} from './frames.ts';
import {type FromReader, fromReader, maxFrameBytes, type ToReader} from './protocol.ts';

interface Needs {
  /** The module that the process runs. */
  file: URL;
  /** What it loads before it is ready. */
  purpose: Purpose;
  heapMb: number;
  onMessage(message: FromReader): void;
  /** Called once. `isReady`: whether it has run. */
  onEnd(isReady: boolean): void;
}

/** `mail`: of strangers. */
export type Purpose = 'mail' | 'report' | 'sign';

export interface ReaderProcess {
  tell(message: ToReader): void;
  /** Sends bytes of a mail; resolves when there is room for more, or when the process has ended. */
  send(job: number, bytes: Buffer): Promise<void>;
  kill(): void;
  readonly hasEnded: Promise<void>;
}

export const startReader = ({file, purpose, heapMb, onMessage, onEnd}: Needs): ReaderProcess => {
  const child = spawned(fileURLToPath(file), purpose, heapMb);
  // It has no streams when no file can be opened for them.
  const {stdin, stdio} = (child ?? {}) as Partial<ChildProcess>;
  const answers = stdio?.[3] as Readable | undefined;
  const ended = new AbortController();
  let isReady = false;
  const kill = () => void child?.kill('SIGKILL');

  const read = createFrameReader(({message}) => {
    const checked = fromReader.parse(message);
    if (checked.kind === 'ready') isReady = true;
    onMessage(checked);
  }, maxFrameBytes);
  answers?.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      // It no longer does what it was written for.
      answers.removeAllListeners('data').resume();
      kill();
    }
  });
  // The event below reports its end.
  for (const stream of [stdin, answers]) stream?.on('error', () => {});
  const hasEnded = new Promise<void>(resolve => {
    const end = () => {
      if (ended.signal.aborted) return;
      ended.abort();
      onEnd(isReady);
      resolve();
    };
    child?.once('close', end).on('error', end);
    if (!child) setImmediate(end);
  });

  return {
    tell: message => void (stdin && writeFrame(stdin, message)),
    async send(job, bytes) {
      if (!stdin || writeFrame(stdin, {kind: 'mail', job} satisfies ToReader, bytes) || ended.signal.aborted) return;
      await once(stdin, 'drain', {signal: ended.signal}).catch(() => {});
    },
    kill,
    hasEnded,
  };
};

/** Undefined when the system has no memory for it: that alone is thrown. */
const spawned = (path: string, purpose: Purpose, heapMb: number): ChildProcess | undefined => {
  try {
    const [program = '', ...before] = [...endingWithNode(), process.execPath];
    return spawn(program, [...before, ...flagsFor(path, heapMb), path, purpose], {
      env: childEnvironment({}),
      // Packages may print, and Node writes pages about memory that is used up.
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      // In a group of its own: a signal to its own group would reach the node otherwise, and one of a terminal would reach it.
      detached: true,
    });
  } catch {
    return undefined;
  }
};

const setpriv = ['/usr/bin/setpriv', '--pdeathsig', 'KILL'];
let mayUseSetpriv: boolean | undefined;

/**
 * A reader ends with its input, but one that a mail keeps busy would not notice that the node was killed. Of util-linux; where it is missing,
 * or of another make, readers are started without it.
 */
const endingWithNode = (): string[] => {
  const [program = '', ...options] = setpriv;
  mayUseSetpriv ??= spawnSync(program, [...options, '/bin/true'], {env: childEnvironment({}), stdio: 'ignore'}).status === 0;
  return mayUseSetpriv ? setpriv : [];
};

/** The permission model keeps code that a mail brings from files, processes and threads. Its name has changed between versions. */
const flagsFor = (path: string, heapMb: number): string[] => {
  const known = process.allowedNodeEnvironmentFlags;
  const permission = ['--permission', '--experimental-permission'].find(flag => known.has(flag));
  return [
    '--disable-proto=delete',
    `--max-old-space-size=${heapMb}`,
    '--max-semi-space-size=2',
    ...(permission === undefined ? [] : [permission, `--allow-fs-read=${path}`]),
  ];
};
