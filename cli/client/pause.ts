export interface Pause {
  /** Resolves after `ms`; at once when `end` was called since the last wait, or when the signal aborts. True when it was ended. */
  wait(ms: number): Promise<boolean>;
  end(): void;
}

/** A wait that others may cut short, also before it begins. */
export const createPause = (signal: AbortSignal): Pause => {
  let isEnded = false;
  let wake = (): void => undefined;
  return {
    end() {
      isEnded = true;
      wake();
    },
    async wait(ms) {
      if (!isEnded && !signal.aborted)
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
          signal.addEventListener('abort', wake, {once: true});
        });
      signal.removeEventListener('abort', wake);
      const wasEnded = isEnded;
      isEnded = false;
      return wasEnded;
    },
  };
};
