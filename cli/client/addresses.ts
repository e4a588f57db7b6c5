// Addresses of several nodes of one cluster. Requests go to one of them; when it does not answer, they move to the next one.
import {CliError, exitCodes} from '../errors.ts';
import {isForGood} from './retry.ts';

export interface Move {
  /** `host:port` */
  from: string;
  to: string;
  /** Why requests leave `from`. */
  why: 'does not answer' | 'was removed from its cluster';
  /** The error of the request to `from`. */
  detail: string;
}

export interface Attempt {
  baseUrl: URL;
  /** Another node is available, so the attempt should time out sooner. */
  isHurried: boolean;
}

interface AskOptions {
  /** Repeating it does no harm. */
  isRepeatable: boolean;
  /** After it has aborted, no other node is tried. */
  signal: AbortSignal | undefined;
}

export interface Addresses {
  /** Rejects with the error of the last node that was tried, or, when no node answers, with one that names all of them. */
  ask<T>(attempt: (attempt: Attempt) => Promise<T>, options: AskOptions): Promise<T>;
}

export const createAddresses = (urls: readonly [URL, ...URL[]], onMove: (move: Move) => void): Addresses => {
  let inUse = 0;
  const urlAt = (at: number): URL => urls[at] ?? urls[0];
  const inOrder = (): number[] => urls.map((_, n) => (inUse + n) % urls.length);
  const moveFrom = (at: number, error: CliError): void => {
    // Otherwise a concurrent request has already moved on and reported it.
    if (at !== inUse) return;
    inUse = (at + 1) % urls.length;
    const why = isUnanswered(error) ? 'does not answer' : 'was removed from its cluster';
    onMove({from: urlAt(at).host, to: urlAt(inUse).host, why, detail: error.detail});
  };

  return {
    async ask(attempt, {isRepeatable, signal}) {
      const silent: CliError[] = [];
      for (const at of inOrder()) {
        try {
          return await attempt({baseUrl: urlAt(at), isHurried: silent.length < urls.length - 1});
        } catch (error) {
          if (signal?.aborted || urls.length === 1 || !mayAskNext(error, isRepeatable)) throw error;
          silent.push(error);
          if (silent.length < urls.length) moveFrom(at, error);
        }
      }
      throw allSilent(silent);
    },
  };
};

/**
 * Whether the next node may be tried. A node that received nothing, or was removed from the cluster, has done nothing. Any other answer is final. An untrusted
 * certificate ends the command: moving on would hide an attacker between mfctl and the node.
 */
const mayAskNext = (error: unknown, isRepeatable: boolean): error is CliError => {
  if (!(error instanceof CliError)) return false;
  const {code, retryAfterSeconds: seconds = 0} = error;
  if (isUnanswered(error)) return isRepeatable || isUnsent(error);
  return code === 'node_removed' || (code === 'unavailable' && isForGood(seconds));
};

/** Errors of the network. Errors of TLS must not be among them. */
const silence = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
  ...['ENOTFOUND', 'EAI_AGAIN'],
]);

interface ConnectionError {
  code?: string;
  /** See `createExchange`. */
  isUnsent?: boolean;
}

const causeOf = ({cause}: CliError): ConnectionError => (cause ?? {}) as ConnectionError;

const isUnanswered = (error: CliError): boolean => silence.has(causeOf(error).code ?? '');

const isUnsent = (error: CliError): boolean => causeOf(error).isUnsent === true;

/** The cause is the error of a node that may have received the request, if there is one: callers then treat the outcome as unknown. */
const allSilent = (errors: readonly CliError[]): CliError => {
  const uncertain = errors.find(error => isUnanswered(error) && !isUnsent(error));
  return new CliError(uncertain?.code ?? 'unreachable', `no node answers: ${errors.map(({detail}) => detail).join('; ')}`, {
    exitCode: exitCodes.unreachable,
    hint: 'mfctl context list -o wide shows the addresses of a context; --url URL asks another one',
    cause: (uncertain ?? errors[0])?.cause,
  });
};
