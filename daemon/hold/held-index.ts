// Index of the mail held on this node, read from the database; independent of the hold backend.

import type {HeldMailDetail} from '../../shared/held-mail.ts';
import type {HeldQuery} from '../services/ports.ts';
import type {HoldQueue} from '../services/quarantine/hold-queue-port.ts';
import {isHeld, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {toListEntry} from './held-facts.ts';
import type {HoldActions} from './hold-actions.ts';
import {unknownMail} from './hold-state.ts';

type HeldIndex = Pick<HoldQueue, 'list' | 'samples' | 'positionOf' | 'summary' | 'get'>;

interface Needs {
  nodeId: string;
  query: HeldQuery;
  find: HoldActions['find'];
}

export const createHeldIndex = ({nodeId, query, find}: Needs): HeldIndex => {
  const isHere = (node: string | undefined) => node === undefined || node === nodeId;

  return {
    list: async (filter, page, {reach}) => (isHere(filter.node) ? query.list(filter, reach, page) : {mails: [], total: 0}),

    samples: async (filter, steps, {reach}) =>
      isHere(filter.node) ? query.samples(filter, reach, steps) : {marks: [], total: 0},

    positionOf: async (filter, cursor, {reach}) => (isHere(filter.node) ? query.positionOf(filter, reach, cursor) : 0),

    async summary(filter, {reach}) {
      const groups = isHere(filter.node) ? await query.groups(filter, reach) : [];
      return {
        count: groups.reduce((sum, {count}) => sum + count, 0),
        size_bytes: groups.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
        oldest_arrived_at: groups.map(({oldest_arrived_at}) => oldest_arrived_at).sort()[0] ?? null,
        groups: groups.map(({domain, reason, ...group}) => ({domain, reason, node_id: nodeId, ...group})),
      };
    },

    async get(queueId, {reach}) {
      const mail = await find(queueId, reach);
      if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
      return toDetail(nodeId, mail);
    },
  };
};

const toDetail = (nodeId: string, mail: StoredHeldMail): HeldMailDetail => ({
  ...toListEntry(nodeId, mail),
  domain: mail.domain,
  direction: mail.direction,
  symbol_scores: mail.symbol_scores,
  client_ip: mail.client_ip,
  helo: mail.helo,
});
