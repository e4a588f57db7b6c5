// Trainer of the classifier: passes on users' decisions about held mail. A failing classifier does not affect these actions.

import {hasOwn} from '../../../shared/has-own.ts';
import type {Classifier, MailBody, MailContent, Trainer, TrainingClass, TrainingResult} from '../intake/mail.ts';

interface Needs {
  /** Undefined while training is not configured. */
  classifier(): Classifier | undefined;
  onTrained(sampleClass: TrainingClass, outcome: 'learned' | 'known' | 'failed'): void;
  /** Called once when training starts to fail; `onRecovery` is called once when it works again. */
  onOutage(detail: string): void;
  onRecovery(missedSamples: number): void;
  now: () => number;
}

/** Pause after a classifier did not answer, so that a thousand discarded mails do not each wait for the deadline. */
const pauseMs = 30_000;

export const createTrainer = ({classifier, onTrained, onOutage, onRecovery, now}: Needs): Trainer => {
  let missed = 0;
  let pause: {of: Classifier; until: number} | undefined;

  const trainWith = async (
    current: Classifier,
    ...[sampleClass, mail, read]: Parameters<Trainer['train']>
  ): Promise<TrainingResult> => {
    if (pause?.of === current && now() < pause.until) return {kind: 'unreachable', detail: ''};
    const body = await read().catch(() => undefined);
    if (!body) return {kind: 'refused', detail: 'the mail could not be read'};
    const trained = await current.train(sampleClass, {...mail, content: contentOf(body)});
    body.stream.destroy();
    pause = trained.kind === 'unreachable' ? {of: current, until: now() + pauseMs} : undefined;
    return trained;
  };

  return {
    async train(sampleClass, mail, read) {
      const current = classifier();
      if (!current) return;
      const trained = await trainWith(current, sampleClass, mail, read);
      if (hasOwn(trained, 'detail')) {
        onTrained(sampleClass, 'failed');
        missed += 1;
        if (missed === 1) onOutage(trained.detail);
        return;
      }
      onTrained(sampleClass, trained.kind);
      if (missed > 0) onRecovery(missed);
      missed = 0;
    },
  };
};

const contentOf = ({sizeBytes, stream}: MailBody): MailContent => {
  // An unread stream must not raise an unhandled error.
  stream.on('error', () => undefined);
  return {sizeBytes, open: () => stream, discard: async () => void stream.destroy()};
};
