// Memory of a process under test once all of its garbage has been collected.
//
// Resident memory cannot tell a leak from garbage: a heap grows to the amount of garbage between two collections, which is larger
// when the process gets less of the machine, and it gives little of it back. Only memory that is still referenced remains after a
// forced collection.
import {once} from 'node:events';
import {readdir} from 'node:fs/promises';
import {connect} from 'node:net';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import type {Owner} from '../helpers/daemon.ts';
import {testFolder} from '../helpers/test-folder.ts';

export interface MemoryProbe {
  /** The environment with which the process must be started. */
  env: Record<string, string>;
  /** The heap, and the memory outside the heap that it references, of all threads of the process. */
  heldMebibytes(pid: number): Promise<number>;
}

const report = fileURLToPath(new URL('memory-report.cjs', import.meta.url));

export const createMemoryProbe = async (owner: Owner): Promise<MemoryProbe> => {
  const folder = await testFolder(owner);

  return {
    env: {NODE_OPTIONS: `--require ${JSON.stringify(report)}`, FAULT_MEMORY_FOLDER: folder},
    async heldMebibytes(pid) {
      const sockets = (await readdir(folder)).filter(name => name.startsWith(`${pid}-`));
      const bytes = await Promise.all(sockets.map(async name => heldBytes(join(folder, name), name === `${pid}-0`)));
      if (bytes.length === 0) throw new Error(`process ${pid} was not started with the environment of its memory probe`);
      return bytes.reduce((sum, more) => sum + more, 0) / 1024 / 1024;
    },
  };
};

/** A thread that has ended leaves its socket behind; the main thread must answer. */
const heldBytes = async (path: string, isMain: boolean): Promise<number> => {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return Number(await text(socket));
  } catch (error) {
    if (isMain) throw error;
    return 0;
  } finally {
    socket.destroy();
  }
};
