import {randomUUID} from 'node:crypto';
import {writeFile} from 'node:fs';
import {type FileHandle, open, realpath, rename, rm, stat} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {CliError} from '../errors.ts';
import {fileFailure} from '../files/text-file.ts';

interface Options {
  /** Whether the mail may replace a file. */
  isForced?: boolean;
  /** What to do about a file that cannot be created. */
  hint?: string;
}

type Mail = () => Promise<AsyncIterable<Buffer>>;

/**
 * Writes a new file, mode 0600, and resolves with the number of bytes. The file is created before the mail is asked for. After a
 * failure there is no new file, and an old one is as it was.
 */
export const saveMail = async (mail: Mail, file: string, options: Options = {}): Promise<number> => {
  const kind = await kindOf(file);
  const fd = ownFd(file);
  // The shell has opened the file, for `> f` or `>> f`: opened again, it would be emptied.
  if (kind === 'file' && fd !== undefined)
    return write({mail, file, to: async chunk => promisify(writeFile)(fd, chunk), end: async () => {}});
  if (kind === 'device') return writeTo(await opened(file, 'w', options), {mail, file});
  if (kind === 'file' && options.isForced) return replace(mail, file, options);
  return create(mail, file, options);
};

/** Pipes and devices such as /dev/stdout hold nothing that could be lost. */
const kindOf = async (file: string): Promise<'none' | 'file' | 'device'> => {
  const found = await stat(file).catch(() => undefined);
  if (!found) return 'none';
  return found.isFIFO() || found.isCharacterDevice() || found.isSocket() ? 'device' : 'file';
};

/** The descriptor of this process that the name stands for. */
const ownFd = (file: string): number | undefined => {
  const [found, fd] = /^\/dev\/(?:stdout|stderr|fd\/(\d{1,9}))$/.exec(file) ?? [];
  if (found === undefined) return undefined;
  return fd === undefined ? (found === '/dev/stdout' ? 1 : 2) : Number(fd);
};

const replace = async (mail: Mail, file: string, options: Options): Promise<number> => {
  // A folder cannot be replaced, and is told as such.
  if ((await stat(file)).isDirectory()) return writeTo(await opened(file, 'w', options), {mail, file});
  const target = await realpath(file);
  // Not the name with something behind it, which may be too long.
  const beside = join(dirname(target), `.mfctl-${randomUUID()}.tmp`);
  const size = await create(mail, beside, options);
  try {
    await rename(beside, target);
  } catch (error) {
    // Another user's file in a folder such as /tmp, or one that is mounted.
    await rm(beside, {force: true});
    throw fileFailure(file, error, 'write', options.hint);
  }
  return size;
};

const create = async (mail: Mail, file: string, options: Options): Promise<number> => {
  const handle = await opened(file, 'wx', options);
  try {
    return await writeTo(handle, {mail, file, isSynced: true});
  } catch (error) {
    await rm(file, {force: true});
    throw error;
  }
};

const opened = (file: string, flags: string, {hint = 'choose another name'}: Options): Promise<FileHandle> =>
  open(file, flags, 0o600).catch(error => {
    throw fileFailure(file, error, 'write', hint);
  });

/** Closes the file in any case. */
const writeTo = async (
  handle: FileHandle,
  {mail, file, isSynced = false}: {mail: Mail; file: string; isSynced?: boolean},
): Promise<number> => {
  try {
    return await write({
      mail,
      file,
      to: async chunk => handle.writeFile(chunk),
      end: async () => (isSynced ? handle.sync() : undefined),
    });
  } finally {
    await handle.close();
  }
};

interface Writing {
  mail: Mail;
  file: string;
  to(chunk: Buffer): Promise<void>;
  end(): Promise<void>;
}

const write = async ({mail, file, to, end}: Writing): Promise<number> => {
  let size = 0;
  try {
    for await (const chunk of await mail()) {
      await to(chunk);
      size += chunk.length;
    }
    await end();
    return size;
  } catch (error) {
    throw error instanceof CliError ? error : fileFailure(file, error, 'write');
  }
};
