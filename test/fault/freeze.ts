import {readdir, readFile} from 'node:fs/promises';
import {eventually} from '../helpers/eventually.ts';

/** Stops a process at any moment. When this resolves, none of its threads runs or waits for a disk. */
export const freeze = async (pid: number): Promise<void> => {
  process.kill(pid, 'SIGSTOP');
  await eventually(async () => {
    const threads = await readdir(`/proc/${pid}/task`);
    const states = await Promise.all(threads.map(async thread => stateOf(`/proc/${pid}/task/${thread}/stat`)));
    return states.every(state => state === 'T');
  });
};

/** The letter after the name, which is in brackets and may contain brackets itself: see proc(5). */
const stateOf = async (file: string): Promise<string | undefined> => /.*\) (.)/s.exec(await readFile(file, 'utf8'))?.[1];
