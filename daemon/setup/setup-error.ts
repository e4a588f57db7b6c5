/** What keeps a mail system from being set up, in one line or a few for people. */
export class SetupError extends Error {
  override name = 'SetupError';
}
