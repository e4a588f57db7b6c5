// Routes for the node that sends the digests of a domain.

import {linkMessages, digestMessages as messages} from '../../services/recipients/digest-messages.ts';
import type {DigestDesk} from '../../services/recipients/digest-model.ts';
import type {LinkDesk} from '../../services/recipients/link-desk.ts';
import type {PeerRouter} from './peer-app.ts';
import {routeMessage} from './routes-peer-cluster.ts';

export const routeRecipientLinks =
  (desk: LinkDesk) =>
  (router: PeerRouter): void => {
    routeMessage(router, linkMessages.view, async ({hash}) => (await desk.view(hash)) ?? null);
    routeMessage(
      router,
      linkMessages.act,
      async ({hash, action, remote_address}, {state}) =>
        (await desk.act(hash, action, remote_address, state.peer.nodeId)) ?? null,
    );
  };

export const routePeerDigests =
  (desk: DigestDesk) =>
  (router: PeerRouter): void => {
    routeMessage(router, messages.open, async (round, {state}) => desk.open(round, state.peer.nodeId));
    routeMessage(router, messages.keep, async (round, {state}) => desk.keep(round, state.peer.nodeId));
    routeMessage(router, messages.waiting, async ({after, limit, ...round}) => desk.waiting(round, {after, limit}));
    routeMessage(router, messages.digests, async ({asked, ...round}, {state}) => desk.digests(round, asked, state.peer.nodeId));
    routeMessage(router, messages.preview, async ({mailbox, ...round}) => desk.preview(round, mailbox));
    routeMessage(router, messages.settle, async ({settlements, served, ...round}, {state}) => {
      await desk.settle(round, {settlements, served}, state.peer.nodeId);
      return null;
    });
    routeMessage(router, messages.resentAmong, async ({ids, ...round}) => desk.resentAmong(round, ids));
    routeMessage(router, messages.close, async (round, {state}) => {
      await desk.close(round, state.peer.nodeId);
      return null;
    });
  };
