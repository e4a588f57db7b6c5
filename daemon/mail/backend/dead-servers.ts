// Servers that did not answer recently. Mail tries them last, and each is tried again in the background.
//
// failed → dead; an attempt fails → dead, the next pause is twice as long; an attempt or a mail succeeds → forgotten;
// no mail asks for the server for ten minutes → forgotten

export interface DeadServers {
  /** Whether the server did not answer the last attempt. */
  has(server: string): boolean;
  /** Records that the server did not answer. `tryAgain` resolves with whether it answers, and never rejects. */
  failed(server: string, tryAgain: () => Promise<boolean>): void;
  /** Records that the server answered. */
  worked(server: string): void;
  /** Ends all background attempts. */
  close(): void;
}

interface Needs {
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  pause?: {firstMs: number; mostMs: number};
  /** A server that no mail asks for during this time is forgotten: its domain may be gone. */
  wantedMs?: number;
  maxRemembered?: number;
}

interface Note {
  askedAtMs: number;
  timer?: NodeJS.Timeout;
}

export const createDeadServers = ({
  now,
  pause = {firstMs: 1000, mostMs: 60_000},
  wantedMs = 600_000,
  maxRemembered = 1000,
}: Needs): DeadServers => {
  const notes = new Map<string, Note>();

  const forget = (server: string): void => {
    clearTimeout(notes.get(server)?.timer);
    notes.delete(server);
  };

  const tryLater = (server: string, note: Note, afterMs: number, tryAgain: () => Promise<boolean>): void => {
    const attempt = async (): Promise<void> => {
      const isUsable = await tryAgain();
      // A mail may have used the server meanwhile.
      if (notes.get(server) !== note) return;
      if (isUsable || now() - note.askedAtMs > wantedMs) forget(server);
      else tryLater(server, note, Math.min(afterMs * 2, pause.mostMs), tryAgain);
    };
    note.timer = setTimeout(() => void attempt(), afterMs).unref();
  };

  return {
    has(server) {
      const note = notes.get(server);
      if (note) note.askedAtMs = now();
      return note !== undefined;
    },
    failed(server, tryAgain) {
      if (notes.has(server) || notes.size >= maxRemembered) return;
      const note: Note = {askedAtMs: now()};
      notes.set(server, note);
      tryLater(server, note, pause.firstMs, tryAgain);
    },
    worked: forget,
    close() {
      for (const server of [...notes.keys()]) forget(server);
    },
  };
};
