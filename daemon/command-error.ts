/** A command that cannot be carried out: `message` is one line for people. Exit status 1. */
export class CommandError extends Error {
  override name = 'CommandError';
}
