// The part of another node in digests.
import type {z} from 'zod';
import type {PeerMessage} from '../services/cluster/peer-protocol.ts';
import {linkMessages, digestMessages as messages} from '../services/recipients/digest-messages.ts';
import type {DigestSource} from '../services/recipients/digest-model.ts';
import type {LinkOwner} from '../services/recipients/link-owner.ts';
import type {PeerClient} from './peer-client.ts';

/** Long enough to list the mail of a day. */
const deadlineMs = 30_000;

export const createPeerDigestSource = ({nodeId, ask}: Pick<PeerClient, 'nodeId' | 'ask'>): DigestSource => {
  const send = async <Asked extends z.ZodType, Answer extends z.ZodType>(
    {at, answer}: PeerMessage<Asked, Answer>,
    body: z.input<Asked>,
  ): Promise<z.output<Answer>> => ask(answer, {...at, body, deadlineMs});
  return {
    nodeId,
    open: async round => send(messages.open, round),
    keep: async round => send(messages.keep, round),
    waiting: async (round, choice) => send(messages.waiting, {...round, ...choice}),
    digests: async (round, asked) => send(messages.digests, {...round, asked: [...asked]}),
    settle: async (round, {settlements, served}) =>
      void (await send(messages.settle, {...round, settlements: [...settlements], served: [...served]})),
    resentAmong: async (round, ids) => send(messages.resentAmong, {...round, ids: [...ids]}),
    close: async round => void (await send(messages.close, round)),
    preview: async (round, mailbox) => send(messages.preview, {...round, mailbox}),
  };
};

/** A release is answered within 15 s. */
const actMs = 16_000;
const viewMs = 5000;

/** Links whose mail another node has. */
export const createPeerLinkOwner = ({nodeId, ask}: Pick<PeerClient, 'nodeId' | 'ask'>): LinkOwner => ({
  nodeId,
  view: async hash => {
    const {at, answer} = linkMessages.view;
    return (await ask(answer, {...at, body: {hash}, deadlineMs: viewMs, isForCaller: true})) ?? undefined;
  },
  act: async (hash, action, remoteAddress) => {
    const {at, answer} = linkMessages.act;
    const body = {hash, action, remote_address: remoteAddress};
    return (await ask(answer, {...at, body, deadlineMs: actMs, isAnnounced: true, isForCaller: true})) ?? undefined;
  },
});
