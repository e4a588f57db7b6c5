// Hands on to a classifier what people decided, and keeps its troubles away from them.

import type {MailContent} from '../intake/mail.ts';
import type {Classifier, Learner, Learnt, Lesson} from '../intake/mail-ports.ts';
import type {MailBody} from '../ports.ts';

interface Needs {
  /** Undefined while nobody is to be taught. */
  classifier(): Classifier | undefined;
  onLesson(lesson: Lesson, outcome: 'learned' | 'known' | 'failed'): void;
  /** Told once when lessons begin to fail, and once when one is taken again. */
  onOutage(detail: string): void;
  onRecovery(missedLessons: number): void;
  now: () => number;
}

/** After silence nobody is asked for so long: of a thousand mails that are discarded not each is to wait for the deadline. */
const pauseMs = 30_000;

export const createLearner = ({classifier, onLesson, onOutage, onRecovery, now}: Needs): Learner => {
  let missed = 0;
  let pause: {of: Classifier; until: number} | undefined;

  const teach = async (pupil: Classifier, ...[lesson, mail, read]: Parameters<Learner['learn']>): Promise<Learnt> => {
    if (pause?.of === pupil && now() < pause.until) return {kind: 'unreachable', detail: ''};
    const body = await read().catch(() => undefined);
    if (!body) return {kind: 'refused', detail: 'the mail could not be read'};
    const learnt = await pupil.learn(lesson, {...mail, content: contentOf(body)});
    body.stream.destroy();
    pause = learnt.kind === 'unreachable' ? {of: pupil, until: now() + pauseMs} : undefined;
    return learnt;
  };

  return {
    async learn(lesson, mail, read) {
      const pupil = classifier();
      if (!pupil) return;
      const learnt = await teach(pupil, lesson, mail, read);
      if ('detail' in learnt) {
        onLesson(lesson, 'failed');
        missed += 1;
        if (missed === 1) onOutage(learnt.detail);
        return;
      }
      onLesson(lesson, learnt.kind);
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
