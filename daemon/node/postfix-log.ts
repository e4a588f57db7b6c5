// The log of Postfix on this machine, which goes on with the story of mail that this node handed over.
import {createJournal} from '../mail/postfix-log/journal.ts';
import {createLogFile} from '../mail/postfix-log/log-file.ts';
import {LogUnreadable} from '../mail/postfix-log/log-follower.ts';
import type {Dependency} from '../services/dependencies/dependencies.ts';
import {createPostfixStory} from '../services/events/postfix-story.ts';
import type {Base} from './base.ts';
import type {openEventLog} from './event-log.ts';
import type {Job} from './jobs.ts';

/** `postfix.log_file` for the journal of systemd. */
const journal = 'journal';
const part = 'postfix_log';

export const openPostfixLog = (
  {config, storage: {store, nodeId}, dependencies, now}: Pick<Base, 'config' | 'storage' | 'dependencies' | 'now'>,
  {write, noteFailure}: Pick<ReturnType<typeof openEventLog>, 'write' | 'noteFailure'>,
): {jobs: Job[]; close(): Promise<void>} => {
  const {log_file: path} = config.postfix;
  if (path === undefined) return {jobs: [], close: async () => {}};

  const story = createPostfixStory({store, nodeId, flush: write, now});
  const needs = {
    readPlace: story.place,
    take: async (...taken: Parameters<typeof story.add>) => void (await story.add(...taken)),
    now,
    monotonic: () => performance.now(),
  };
  const follower = path === journal ? createJournal(needs) : createLogFile({...needs, path});
  const never = Number.POSITIVE_INFINITY;
  // It is read all the time.
  const dependency: Dependency = {part, name: '', quietMs: never, retryMs: never, check: async () => undefined};
  dependencies.watch(() => [dependency]);

  const follow = async (): Promise<void> => {
    try {
      await follower.follow();
      dependencies.worked(part);
    } catch (error) {
      if (error instanceof LogUnreadable) dependencies.failed(part, {detail: error.message, isCertain: true});
      else noteFailure(error);
    }
  };
  // The place of the first look has to be before the first mail.
  let current = follow().catch(() => undefined);
  const run = async (): Promise<void> => {
    await current;
    const following = follow();
    current = following.catch(() => undefined);
    await following;
  };
  return {
    jobs: [{everyMs: 500, what: 'following the log of Postfix', run, mayBeCutOff: true}],
    /** Call it before what may fail: its program must not outlive this node. Never rejects. */
    async close() {
      follower.stop();
      await current;
      await follower.close();
    },
  };
};
