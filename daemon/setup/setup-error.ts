/** Reason why a mail system cannot be set up, in a few lines for the administrator. */
export class SetupError extends Error {
  override name = 'SetupError';
}
