// The list of what is held here, read from the database: it is the same whoever has the bytes.

import type {HeldMail, HeldMailDetail} from '../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {AccessScope} from '../../shared/scopes.ts';
import type {LocalHoldQueue} from '../services/ports.ts';
import {type ByteText, byteTextIn, toByteText} from '../services/quarantine/byte-text.ts';
import {createReadHeldRows, heldRowOf} from '../services/quarantine/held-rows.ts';
import {isHeld, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import type {HeldQuery} from '../store/sqlite/held-query.ts';
import type {HoldActions} from './hold-actions.ts';
import {unknownMail} from './hold-state.ts';

type HeldIndex = Pick<LocalHoldQueue, 'list' | 'listJson' | 'marks' | 'rank' | 'summary' | 'get'>;

interface Needs {
  nodeId: string;
  query: HeldQuery;
  find: HoldActions['find'];
}

export const createHeldIndex = ({nodeId, query, find}: Needs): HeldIndex => {
  const read = createReadHeldRows(nodeId);
  const isHere = (node: string | undefined) => node === undefined || node === nodeId;

  const pageOf = async (filter: HoldFilter, page: Page, reach: AccessScope) =>
    isHere(filter.node) ? query.list(filter, reach, page) : {mails: none, total: 0};

  return {
    async list(filter, page, {reach}) {
      const {mails, total} = await pageOf(filter, page, reach);
      const text = byteTextIn(mails);
      const rows = text && read(text, 0)?.rows;
      return {mails: rows ?? (JSON.parse(mails.toString()) as HeldMail[]).map(heldRowOf), total};
    },

    async listJson(filter, page, {reach}) {
      const {mails, total} = await pageOf(filter, page, reach);
      return `{"mails":${byteTextIn(mails) ?? toByteText(mails.toString())},"total":${total}}` as ByteText;
    },

    async marks(filter, steps, {reach}) {
      if (!isHere(filter.node)) return {marks: [], total: 0};
      const {marks, total} = await query.marks(filter, reach, steps);
      return {marks: marks.map(mark => ({...mark, node_id: nodeId})), total};
    },

    async rank(filter, {arrived_at, node_id, queue_id}, {reach}) {
      if (!isHere(filter.node)) return 0;
      // Of mails that arrived at the same time those of one node come before those of the next.
      const among = nodeId === node_id ? {before: queue_id} : nodeId < node_id ? 'all' : 'none';
      return query.rank(filter, reach, {arrived_at, among});
    },

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

const none = Buffer.from('[]');

const toDetail = (nodeId: string, mail: StoredHeldMail): HeldMailDetail => ({
  node_id: nodeId,
  queue_id: mail.queue_id,
  sender: mail.sender,
  recipients: mail.recipients,
  subject: mail.subject,
  // As in the list, where the database writes it.
  score: Number(mail.score.toPrecision(15)),
  symbols: mail.symbol_scores.map(({name}) => name),
  reason: mail.reason,
  size_bytes: mail.size_bytes,
  arrived_at: mail.arrived_at,
  domain: mail.domain,
  direction: mail.direction,
  symbol_scores: mail.symbol_scores,
  client_ip: mail.client_ip,
  helo: mail.helo,
});
