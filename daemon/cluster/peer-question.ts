// Requests to another node on behalf of a caller.

import type {z} from 'zod';
import {Fault, type FaultCode} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Page} from '../../shared/hold-filter.ts';
import type {Actor} from '../services/access/actor.ts';
import type {Steps} from '../services/quarantine/merged-list.ts';
import {actorToRelay, positionAnswer} from '../services/quarantine/peer-hold-protocol.ts';
import type {PeerClient} from './peer-client.ts';

/** For an answer that the peer only has to look up. */
const lookUpMs = 2000;
/** Longer than a caller waits, see `../services/quarantine/gather.ts`. */
export const actionMs = 15_000;

/** Fault codes of the mail's owner that are passed to the caller. All others concern the two nodes only. */
const forCallers: FaultCode[] = [
  'key_invalid',
  'key_revoked',
  'key_expired',
  'not_found',
  'unavailable',
  'node_unreachable',
  'outcome_unknown',
];
/** Further codes that only an action can cause. */
const ofActions: Record<HoldAction, FaultCode[]> = {release: ['conflict', 'delivery_failed'], discard: ['conflict']};

/** Sends a request that changes nothing. Without an answer it rejects with `node_unreachable`. */
export const read = async <S extends z.ZodType>(client: PeerClient, path: string, {schema, body}: Read<S>) =>
  translateReadFaults(client, async () =>
    client.ask(schema, {method: 'POST', path, body, deadlineMs: lookUpMs, isForCaller: true}),
  );

interface Read<S extends z.ZodType> {
  schema: S;
  body: unknown;
}

/** The same for an answer of any length. */
export const openStream = async (client: PeerClient, path: string, body: unknown) =>
  translateReadFaults(client, async () => client.stream({method: 'POST', path, body, deadlineMs: lookUpMs, isForCaller: true}));

const translateReadFaults = async <T>(client: PeerClient, question: () => Promise<T>): Promise<T> =>
  translateFaults(client, forCallers, question).catch(error => {
    if (error instanceof Fault && error.code === 'outcome_unknown')
      throw unreachable(`node ${client.nodeId} did not answer; try again later`, error);
    throw error;
  });

/** Sends an action. Without an answer it rejects with `outcome_unknown`: the action may have been done. */
export const act = async <T>(client: PeerClient, action: HoldAction, question: () => Promise<T>): Promise<T> =>
  translateFaults(client, [...forCallers, ...ofActions[action]], question);

const translateFaults = async <T>(client: PeerClient, passed: readonly FaultCode[], question: () => Promise<T>): Promise<T> => {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof Fault) || passed.includes(error.code)) throw error;
    throw unreachable(`node ${client.nodeId} does not take requests from this one; nothing was done`, error);
  }
};

export const unreachable = (detail: string, cause?: Fault): Fault =>
  new Fault('node_unreachable', detail, {cause, retryAfterSeconds: 5});

interface PartNeeds<L extends z.ZodType, M extends z.ZodType> {
  path: string;
  list: L;
  samples: M;
}

/** Another node's part of a list that is merged from many, see `readMerged`. */
export const askPart = <F, C, L extends z.ZodType, M extends z.ZodType>(
  client: PeerClient,
  {path, list, samples}: PartNeeds<L, M>,
) => ({
  list: async (filter: F, page: Page, actor: Actor) =>
    read(client, `${path}/list`, {schema: list, body: {actor: actorToRelay(actor), filter, page}}),
  samples: async (filter: F, steps: Steps, actor: Actor) =>
    read(client, `${path}/marks`, {schema: samples, body: {actor: actorToRelay(actor), filter, steps}}),
  async positionOf(filter: F, cursor: C, actor: Actor): Promise<number> {
    const body = {actor: actorToRelay(actor), filter, place: cursor};
    return (await read(client, `${path}/rank`, {schema: positionAnswer, body})).rank;
  },
});
