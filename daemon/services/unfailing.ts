// Calls that only observe: counters, metrics, log lines. One that fails must not change the reply to a mail or a request.

/** Neither an error nor a rejection of `call` reaches the caller of the returned function; nor does one of `onFailure`, which gets the failure. */
export const unfailing =
  <A extends unknown[]>(call: (...args: A) => unknown, onFailure: (error: unknown) => unknown = () => {}) =>
  (...args: A): void => {
    const failed = async (error: unknown) => onFailure(error);
    void (async () => call(...args))()
      .catch(failed)
      .catch(() => {});
  };
