// Failures of the operating system in words, for people who do not know its codes.
import {ownValue} from './has-own.ts';

const connectionReasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: 'no answer in time',
};

const fileReasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EISDIR: 'is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'no space left on the disk',
  EROFS: 'the file system is read-only',
  EEXIST: 'it exists already',
};

/** Why there is no connection. Other errors keep their text; that of a host with several addresses has only a code. */
export const connectionReason = (error: Error): string => {
  const {code = ''} = error as NodeJS.ErrnoException;
  return ownValue(connectionReasons, code) ?? (error.message || code);
};

/** Why a file or folder could not be used, without the call and the errno that Node adds. */
export const fileReason = (error: unknown): string => {
  const {code, message} = error as NodeJS.ErrnoException;
  return code === undefined ? message : (ownValue(fileReasons, code) ?? code);
};
