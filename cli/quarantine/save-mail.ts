import {open, rm} from 'node:fs/promises';
import {CliError} from '../errors.ts';
import {fileFailure} from '../files/text-file.ts';

/** Writes a new file, mode 0600, and resolves with the number of bytes. A failure leaves no file. */
export const saveMail = async (body: AsyncIterable<Buffer>, file: string): Promise<number> => {
  const handle = await open(file, 'wx', 0o600).catch(error => {
    throw fileFailure(file, error, 'write', 'choose another name');
  });
  let size = 0;
  try {
    for await (const chunk of body) {
      await handle.writeFile(chunk);
      size += chunk.length;
    }
    await handle.sync();
    return size;
  } catch (error) {
    await rm(file, {force: true});
    throw error instanceof CliError ? error : fileFailure(file, error, 'write');
  } finally {
    await handle.close();
  }
};
