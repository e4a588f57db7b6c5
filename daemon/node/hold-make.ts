// The two makes of a hold queue: mail in a spool of this node, or in a store that all nodes share. What they need and what they give.
import type {HeadersRead} from '../hold/held-headers.ts';
import type {HoldBackend} from '../hold/hold-backend.ts';
import type {HoldQueueNeeds, OwnHoldQueue} from '../hold/hold-queue.ts';
import type {ReleaseDeliveryNeeds} from '../hold/release-delivery.ts';
import type {SpoolHolderNeeds} from '../hold/spool/spool-backend.ts';
import type {MailHolder} from '../services/intake/mail.ts';
import type {Quarantine} from '../services/quarantine/quarantine.ts';
import type {Retention} from '../services/quarantine/retention.ts';
import type {ListedQueue} from '../services/quarantine/stored-mail.ts';
import type {Job} from './jobs.ts';
import type {followPeers} from './peer-clients.ts';

/** Clients of the other nodes. */
type Others = Pick<ReturnType<typeof followPeers>, 'queues' | 'ask' | 'isAway' | 'isSilent'> & {
  /** Nodes with held mail in their Postfix, where all nodes share a store. */
  postfixNodes(): readonly string[];
};

/** What a hold queue of either make has. */
export interface Hold {
  queue: OwnHoldQueue;
  /** The same queue where the nodes merge their lists. */
  listed?: ListedQueue;
  holder: MailHolder;
  retention: Retention;
  openQuarantine(others: Others): Quarantine;
  jobs: Job[];
  /** Holds mail again whose action ended with the last run of this node. Call it before anything acts on mail. */
  takeBackOwnClaims(): Promise<void>;
  /** Whether mail can be held now, as far as this node knows. */
  isStoreReachable(): boolean;
  /** Resolves once no action is running. */
  idle(): Promise<void>;
}

export interface HoldNeeds {
  delivery: ReleaseDeliveryNeeds;
  postfix: HoldBackend;
  onHeld: SpoolHolderNeeds['onHeld'];
  /** Reads headers that earlier versions did not keep. `hasEarlier`: whether a node of such a version shares the store. */
  readJob(readFrom: () => Promise<HeadersRead>, hasEarlier?: () => boolean): Job;
  common: Pick<HoldQueueNeeds, 'trainer' | 'onActed' | 'onLeftover' | 'now'>;
}
