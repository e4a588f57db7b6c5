// Locks of held mails: actions on one mail run one after the other.
export interface MailLocks {
  run<T>(queueId: string, work: () => Promise<T>): Promise<T>;
  isLocked(queueId: string): boolean;
  /** Resolves once all actions that are running now have ended. */
  idle(): Promise<void>;
}

export const createMailLocks = (): MailLocks => {
  const underWay = new Map<string, Promise<unknown>>();
  return {
    async run(queueId, work) {
      const before = underWay.get(queueId)?.catch(() => {});
      const own = Promise.resolve(before).then(work);
      underWay.set(queueId, own);
      return own.finally(() => {
        if (underWay.get(queueId) === own) underWay.delete(queueId);
      });
    },
    isLocked: queueId => underWay.has(queueId),
    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };
};
