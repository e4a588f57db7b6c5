// Routes for the node that sends the digests of a domain.

import {linkMessages, digestMessages as messages} from '../../services/recipients/digest-messages.ts';
import type {DigestSource} from '../../services/recipients/digest-model.ts';
import type {LinkOwner} from '../../services/recipients/link-owner.ts';
import type {PeerRouter} from './peer-app.ts';
import {routeMessage} from './routes-peer-cluster.ts';

export const routeRecipientLinks =
  (owner: LinkOwner) =>
  (router: PeerRouter): void => {
    routeMessage(router, linkMessages.view, async ({hash}) => (await owner.view(hash)) ?? null);
    routeMessage(
      router,
      linkMessages.act,
      async ({hash, action, remote_address}, {state}) =>
        (await owner.act(hash, action, remote_address, state.peer.nodeId)) ?? null,
    );
  };

export const routePeerDigests =
  (source: DigestSource) =>
  (router: PeerRouter): void => {
    routeMessage(router, messages.open, async (round, {state}) => source.open(round, state.peer.nodeId));
    routeMessage(router, messages.keep, async (round, {state}) => source.keep(round, state.peer.nodeId));
    routeMessage(router, messages.waiting, async ({after, limit, ...round}) => source.waiting(round, {after, limit}));
    routeMessage(router, messages.digests, async ({asked, ...round}, {state}) => source.digests(round, asked, state.peer.nodeId));
    routeMessage(router, messages.preview, async ({mailbox, ...round}) => source.preview(round, mailbox));
    routeMessage(router, messages.settle, async ({settlements, served, ...round}, {state}) => {
      await source.settle(round, {settlements, served}, state.peer.nodeId);
      return null;
    });
    routeMessage(router, messages.resentAmong, async ({ids, ...round}) => source.resentAmong(round, ids));
    routeMessage(router, messages.close, async (round, {state}) => {
      await source.close(round, state.peer.nodeId);
      return null;
    });
  };
