// Hands on to a classifier what people decided, and keeps its troubles away from them.

import type {MailContent} from '../intake/mail.ts';
import type {Classifier, Trainer, TrainingClass, TrainingResult} from '../intake/mail-ports.ts';
import type {MailBody} from '../ports.ts';

interface Needs {
  /** Undefined while nobody is to be taught. */
  classifier(): Classifier | undefined;
  onTrained(sampleClass: TrainingClass, outcome: 'learned' | 'known' | 'failed'): void;
  /** Told once when lessons begin to fail, and once when one is taken again. */
  onOutage(detail: string): void;
  onRecovery(missedSamples: number): void;
  now: () => number;
}

/** After silence nobody is asked for so long: of a thousand mails that are discarded not each is to wait for the deadline. */
const pauseMs = 30_000;

export const createTrainer = ({classifier, onTrained, onOutage, onRecovery, now}: Needs): Trainer => {
  let missed = 0;
  let pause: {of: Classifier; until: number} | undefined;

  const trainWith = async (
    wanted: Classifier,
    ...[sampleClass, mail, read]: Parameters<Trainer['train']>
  ): Promise<TrainingResult> => {
    if (pause?.of === wanted && now() < pause.until) return {kind: 'unreachable', detail: ''};
    const body = await read().catch(() => undefined);
    if (!body) return {kind: 'refused', detail: 'the mail could not be read'};
    const trained = await wanted.train(sampleClass, {...mail, content: contentOf(body)});
    body.stream.destroy();
    pause = trained.kind === 'unreachable' ? {of: wanted, until: now() + pauseMs} : undefined;
    return trained;
  };

  return {
    async train(sampleClass, mail, read) {
      const wanted = classifier();
      if (!wanted) return;
      const trained = await trainWith(wanted, sampleClass, mail, read);
      if ('detail' in trained) {
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
  // Whoever does not read it does not hear of its errors either.
  stream.on('error', () => undefined);
  return {sizeBytes, open: () => stream, discard: async () => void stream.destroy()};
};
