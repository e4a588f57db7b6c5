// Trainer of the classifier: passes on users' decisions about held mail. A failing classifier does not affect these actions.

import {Fault} from '../../../shared/fault.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import type {TrainingClass} from '../../../shared/held-mail.ts';
import type {Classifier, MailBody, MailContent, Trainer, TrainingResult} from '../intake/mail.ts';

interface Needs {
  /** This node. */
  nodeId: string;
  /** Undefined where nothing learns. */
  classifier(): Classifier | undefined;
  /** Whether releases and discards train it. */
  isTrainedByActions(): boolean;
  onTrained(sampleClass: TrainingClass, outcome: 'learned' | 'known' | 'failed'): void;
  /** Called once when training by actions starts to fail; `onRecovery` is called once when it works again. */
  onOutage(detail: string): void;
  onRecovery(missedSamples: number): void;
  now: () => number;
}

/** Pause after a classifier did not answer, so that a thousand discarded mails do not each wait for the deadline. */
const pauseMs = 30_000;

export const createTrainer = (needs: Needs): Trainer => {
  const {nodeId, classifier, isTrainedByActions, onTrained, onOutage, onRecovery, now} = needs;
  let missed = 0;
  let pause: {of: Classifier; until: number} | undefined;

  const trainWith = async (
    current: Classifier,
    ...[sampleClass, mail, read]: Parameters<Trainer['train']>
  ): Promise<TrainingResult | undefined> => {
    if (pause?.of === current && now() < pause.until) return {kind: 'unreachable', detail: ''};
    const body = await read().catch(() => null);
    if (body === null) return {kind: 'refused', detail: 'the mail could not be read'};
    if (body === undefined) return undefined;
    const trained = await current.train(sampleClass, {...mail, content: contentOf(body)});
    body.stream.destroy();
    pause = trained.kind === 'unreachable' ? {of: current, until: now() + pauseMs} : undefined;
    return trained;
  };

  return {
    async train(sampleClass, mail, read) {
      const current = isTrainedByActions() ? classifier() : undefined;
      if (!current) return;
      const trained = await trainWith(current, sampleClass, mail, read);
      if (!trained) return;
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

    async trainAsAsked(sampleClass, mail, read) {
      const current = classifier();
      if (!current) throw noClassifier(nodeId);
      const body = await read();
      try {
        const trained = await current.train(sampleClass, {...mail, content: contentOf(body)});
        onTrained(sampleClass, hasOwn(trained, 'detail') ? 'failed' : trained.kind);
        return trainingIn(trained);
      } finally {
        body.stream.destroy();
      }
    },
  };
};

const noClassifier = (nodeId: string): Fault =>
  new Fault(
    'conflict',
    `node ${nodeId} scores mail with the built-in scanner, which learns nothing; it takes scanner.type: rspamd and scanner.rspamd_controller_url there`,
  );

const trainingIn = (trained: TrainingResult) => {
  switch (trained.kind) {
    case 'learned':
      return trained.kind;
    case 'known':
      return trained.why;
    case 'refused':
      throw new Fault('conflict', `Rspamd did not learn this mail: ${trained.detail}`);
    case 'unreachable':
      throw new Fault(
        'unavailable',
        `nothing was learned: the controller of Rspamd cannot be reached (${trained.detail}); check scanner.rspamd_controller_url`,
        {retryAfterSeconds: 5},
      );
    default:
      return trained satisfies never;
  }
};

const contentOf = ({sizeBytes, stream}: MailBody): MailContent => {
  // An unread stream must not raise an unhandled error.
  stream.on('error', () => undefined);
  return {sizeBytes, open: () => stream, discard: async () => void stream.destroy()};
};
