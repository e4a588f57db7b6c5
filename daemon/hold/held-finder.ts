// Finder of held mails by id: concurrent requests share one read.

import {createBatch} from '../services/batch.ts';
import type {Store} from '../services/ports.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';

export type HeldFinder = (queueId: string) => Promise<StoredHeldMail | undefined>;

export const createHeldFinder = (store: Pick<Store, 'hold'>): HeldFinder => {
  const submit = createBatch<{queueId: string; mail: StoredHeldMail | undefined}>(async wanted => {
    const ids = [...new Set(wanted.map(({queueId}) => queueId))];
    const found = new Map((await store.hold.findAll(ids)).map(mail => [mail.queue_id, mail]));
    for (const one of wanted) one.mail = found.get(one.queueId);
  });

  return async queueId => {
    const wanted = {queueId, mail: undefined};
    await submit(wanted);
    return wanted.mail;
  };
};
