/** Error of a command that failed: `message` is one line for people. Exit status 1. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** Error of a command with wrong arguments: nothing was done. Exit status 2. */
export class UsageError extends CommandError {
  override name = 'UsageError';
}
