/** A command that cannot be carried out: `message` is one line for people. Exit status 1. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** The same for a command that was not meant like that: nothing was done. Exit status 2. */
export class UsageError extends CommandError {
  override name = 'UsageError';
}
