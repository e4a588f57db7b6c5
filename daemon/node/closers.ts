/** Open resources, closed in reverse order; a failure does not prevent the others from closing. */
export interface Closers {
  add(close: () => Promise<void> | void): void;
  closeAll(): Promise<void>;
}

export const createClosers = (onError: (error: unknown) => void): Closers => {
  const open: (() => Promise<void> | void)[] = [];
  return {
    add: close => void open.push(close),
    async closeAll() {
      for (let close = open.pop(); close; close = open.pop()) {
        try {
          await close();
        } catch (error) {
          onError(error);
        }
      }
    },
  };
};
