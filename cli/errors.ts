import type {FieldFault} from '../shared/fault.ts';

/** Exit codes, which scripts rely on; see the EXIT STATUS section of the help. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  cancelled: 3,
  notAuthorised: 4,
  notFound: 5,
  partial: 6,
  unreachable: 7,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * Exit codes of `cluster check` alone, which speaks to monitoring systems: the statuses of a monitoring plugin. They have
 * nothing to do with the exit codes of all other commands, though the numbers are the same.
 */
export const checkStatuses = {ok: 0, warning: 1, critical: 2, unknown: 3} as const;
export type CheckStatus = (typeof checkStatuses)[keyof typeof checkStatuses];

/** A wrong member of a request. `typed` is the option or argument that it was typed as. */
export interface TypedFieldFault extends FieldFault {
  typed?: string;
}

export interface CliErrorDetails {
  exitCode?: ExitCode | undefined;
  /** What to type or do next. */
  hint?: string | undefined;
  fields?: TypedFieldFault[] | undefined;
  requestId?: string | undefined;
  /** From the node's Retry-After header. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** The one error meant for the person at the terminal. Any other error is a bug in this program. */
export class CliError extends Error {
  /** By its name: the dashboard is a separate bundle with its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Error[Symbol.hasInstance](value) && (value as Error).name === 'CliError';
  }

  readonly code: string;
  readonly detail: string;
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;
  readonly fields: TypedFieldFault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, detail: string, details: CliErrorDetails = {}) {
    super(`${code}: ${detail}`, details.cause === undefined ? undefined : {cause: details.cause});
    this.name = 'CliError';
    this.code = code;
    this.detail = detail;
    this.exitCode = details.exitCode ?? exitCodes.failed;
    this.hint = details.hint;
    this.fields = details.fields ?? [];
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }

  /** The same error with other details. */
  with({detail = this.detail, ...details}: CliErrorDetails & {detail?: string}): CliError {
    return new CliError(this.code, detail, {...this, cause: this.cause, ...details});
  }
}

/** Ends the program with a status and without a message. */
export class ExitStatus extends Error {
  readonly status: ExitCode | CheckStatus;

  constructor(status: ExitCode | CheckStatus) {
    super(`exit status ${status}`);
    this.name = 'ExitStatus';
    this.status = status;
  }
}

export const usageError = (detail: string, hint?: string): CliError =>
  new CliError('usage', detail, {exitCode: exitCodes.usage, hint});

/** For a record that is looked for in a list. */
export const notFound = (detail: string, hint: string): CliError =>
  new CliError('not_found', detail, {exitCode: exitCodes.notFound, hint});

/** For `catch`: a CliError becomes a value, and any other error is thrown on. */
export const onlyCliError = (error: unknown): CliError => {
  if (error instanceof CliError) return error;
  throw error;
};

/** For `catch` of what a node of an earlier version does not have. */
export const undefinedIfNotFound = (error: unknown): undefined => {
  if (error instanceof CliError && error.code === 'not_found') return undefined;
  throw error;
};

/** Any thrown value as an error to show. */
export const asCliError = (error: unknown): CliError => {
  if (error instanceof CliError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CliError('bug', `this should not have happened: ${message}`, {
    cause: error,
    hint: 'repeat with -v and report what it says',
  });
};
