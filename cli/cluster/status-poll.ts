// Polling of the cluster status.
import {setTimeout as sleep} from 'node:timers/promises';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import type {Client} from '../client/client.ts';
import {isHopeless} from '../client/follow-events.ts';
import {CliError, onlyCliError} from '../errors.ts';

interface StatusPoll {
  signal: AbortSignal;
  intervalMs: number;
  onStatus(status: ClusterStatus): Promise<void>;
  /** The node did not answer, or with an error; polling continues. An error that is thrown here ends it. */
  onFailure(error: CliError): void;
}

/** A slower node counts as hanging. */
const answerWithinMs = 10_000;
const longestWaitMs = 60_000;

/** Polls until `signal` aborts, and rejects then with its reason; with a CliError when a retry cannot help. */
export const pollStatus = async (
  client: Pick<Client, 'cluster'>,
  {signal, intervalMs, onStatus, onFailure}: StatusPoll,
): Promise<never> => {
  for (;;) {
    const answer = await client.cluster.status({signal, withinMs: answerWithinMs}).catch(onlyCliError);
    let waitMs = intervalMs;
    if (answer instanceof CliError) {
      if (isHopeless(answer)) throw answer;
      onFailure(answer);
      waitMs = Math.max(waitMs, Math.min((answer.retryAfterSeconds ?? 0) * 1000, longestWaitMs));
    } else await onStatus(answer.data);
    await sleep(waitMs, undefined, {signal});
  }
};
