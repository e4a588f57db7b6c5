import {CliError} from '../errors.ts';

/** The message of an operating-system error, without the call and the errno that Node adds. */
export const fileFailure = (file: string, error: unknown, doing: string, hint?: string): CliError => {
  const {code = 'unknown'} = error as NodeJS.ErrnoException;
  return new CliError('file_failed', `cannot ${doing} ${file}: ${reasons[code] ?? code}`, {cause: error, hint});
};

const reasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EISDIR: 'is a folder',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'no space left on the disk',
  EROFS: 'the file system is read-only',
  EEXIST: 'it exists already',
};
