// Links for recipients, on the node that has their mail: each shows one mail to one recipient, and lets him act on it.
import {relayedDetail} from '../../../shared/audit-relay.ts';
import type {DigestSettings} from '../../../shared/digest.ts';
import {type DigestAction, type DigestLanguage, exceptionTest, linkDays} from '../../../shared/digest-rules.ts';
import {Fault} from '../../../shared/fault.ts';
import type {ActedState, HeldMail} from '../../../shared/held-mail.ts';
import {recipientKeyId} from '../../../shared/recipient-key.ts';
import type {Actor} from '../actor.ts';
import {nodeEntry} from '../audit/stored-entry.ts';
import {answerMs, startAnswerLimit} from '../peers/gather.ts';
import type {Store} from '../ports.ts';
import {
  type HeldState,
  type HoldQueue,
  isForRecipients,
  type RecipientAct,
  type ReleaseRequest,
  type StoredHeldMail,
} from '../quarantine/stored-mail.ts';
import {actionFor, settingsOf} from './digest-settings.ts';
import type {RecipientLink} from './digest-store.ts';

/** What a link leads to. */
export interface LinkView extends Pick<HeldMail, 'sender' | 'from' | 'subject' | 'reason' | 'size_bytes' | 'arrived_at'> {
  /** The recipient. */
  address: string;
  /** `outdated`: the link is too old. */
  state: 'held' | 'outdated' | Exclude<HeldState, 'held' | 'releasing' | 'discarding'>;
  /** When it ended. */
  ended_at: string | null;
  /** What he may do now. */
  action: DigestAction;
  /** When he has asked for it. */
  requested_at: string | null;
  language: DigestLanguage;
  timezone: string;
}

export const linkActions = ['release', 'request'] as const satisfies readonly DigestAction[];
export type LinkAction = (typeof linkActions)[number];

/** Each resolves with undefined for a link that is none. */
export interface LinkOwner {
  readonly nodeId: string;
  view(hash: string): Promise<LinkView | undefined>;
  /**
   * Releases the mail for the recipient, or asks an administrator for it, once and if that is what he may do now. `LinkView` afterwards.
   * Rejects with a Fault when it could not be delivered. `relayedBy`: the node whose page it was, where that is another one.
   */
  act(hash: string, action: LinkAction, remoteAddress: string | null, relayedBy?: string): Promise<LinkView | undefined>;
}

interface Needs {
  nodeId: string;
  store: Pick<Store, 'config' | 'digests' | 'hold' | 'transaction'>;
  queue: Pick<HoldQueue, 'act'>;
  now: () => number;
}

/** The page names no more of them. */
export const authorsOfMail = 20;

const validMs = linkDays * 24 * 3_600_000;

export const createLinkOwner = ({nodeId, store, queue, now}: Needs): LinkOwner => {
  const find = async (hash: string) => {
    const link = await store.digests.link(hash);
    const mail = link && (await store.hold.find(link.queue_id));
    if (!mail) return undefined;
    const acts = (await store.hold.recipientActs([link.queue_id])).get(link.queue_id) ?? [];
    const requests = await store.hold.requests([link.queue_id]);
    const [stored] = await store.config.listDigests([mail.domain_id]);
    const [domain] = await store.config.listDomains([mail.domain_id]);
    const known = {settings: stored && settingsOf(stored), isActive: domain?.active === true};
    return {link, view: viewOf({mail, link, acts, requests, ...known, now: now()})};
  };

  const release = async ({queue_id, address}: RecipientLink, actor: Actor): Promise<void> => {
    const limit = startAnswerLimit(answerMs);
    try {
      await limit.answer(queue.act('release', queue_id, actor, [address]), `releasing ${queue_id}`);
    } finally {
      limit.end();
    }
  };

  const request = async ({queue_id, address}: RecipientLink, {keyId, remoteAddress, relayedBy}: Actor): Promise<void> =>
    store.transaction(async tx => {
      const at = new Date(now()).toISOString();
      if (!(await tx.hold.request({queue_id, address, requested_at: at}))) return;
      await tx.audit.append(
        nodeEntry({
          ...{at, key_id: keyId, remote_address: remoteAddress},
          ...{action: 'quarantine.request', target: `${nodeId}/${queue_id}`, detail: relayedDetail(relayedBy, `for ${address}`)},
        }),
      );
    });

  return {
    nodeId,
    view: async hash => (await find(hash))?.view,
    async act(hash, action, remoteAddress, relayedBy) {
      const found = await find(hash);
      if (found?.view.state !== 'held' || found.view.action !== action) return found?.view;
      try {
        await (action === 'release' ? release : request)(found.link, recipientActor(remoteAddress, relayedBy));
      } catch (error) {
        // An administrator may have come first: then the page says what became of the mail.
        const after = await find(hash);
        if (!(error instanceof Fault) || after?.view.state === 'held') throw error;
        return after?.view;
      }
      return (await find(hash))?.view;
    },
  };
};

const recipientActor = (remoteAddress: string | null, relayedBy: string | undefined): Actor => ({
  keyId: recipientKeyId,
  scope: 'quarantine-only',
  reach: {kind: 'all'},
  remoteAddress,
  ...(relayedBy !== undefined && {relayedBy}),
});

interface Known {
  mail: StoredHeldMail;
  link: RecipientLink;
  acts: readonly RecipientAct[];
  requests: readonly ReleaseRequest[];
  /** Undefined when the domain was deleted: nobody may do anything then. */
  settings: DigestSettings | undefined;
  /** Of the domain. */
  isActive: boolean;
  now: number;
}

const viewOf = ({mail, link, acts, requests, settings, isActive, now}: Known): LinkView => {
  const {sender, from, subject, reason, size_bytes, arrived_at} = mail;
  const act = acts.find(({address}) => address === link.address);
  const state = stateOf(mail, act);
  const isOutdated = state === 'held' && now > Date.parse(link.made_at) + validMs;
  const {language, timezone} = settings ?? settingsOf(undefined);
  // As for a digest, what is set now counts.
  const mayAct = isActive && settings && !exceptionTest(settings.except)(link.address);
  return {
    ...{sender, from: from?.slice(0, authorsOfMail) ?? null, subject, reason, size_bytes, arrived_at, address: link.address},
    state: isOutdated ? 'outdated' : state,
    ended_at: act?.acted_at ?? (state === 'held' ? null : mail.acted_at),
    action:
      mayAct && state === 'held' && !isOutdated
        ? actionFor(settings, {reason, is_for_recipients: isForRecipients(mail)})
        : 'none',
    requested_at: requests.find(({address}) => address === link.address)?.requested_at ?? null,
    ...{language, timezone},
  };
};

const stateOf = (mail: StoredHeldMail, act: RecipientAct | undefined): Exclude<LinkView['state'], 'outdated'> => {
  if (act) return act.state satisfies ActedState;
  const {state} = mail;
  return state === 'held' || state === 'releasing' || state === 'discarding' ? 'held' : state;
};
