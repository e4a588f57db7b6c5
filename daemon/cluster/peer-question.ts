// Questions that one node asks another for a caller.

import type {z} from 'zod';
import {Fault, type FaultCode} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Page} from '../../shared/hold-filter.ts';
import type {Actor} from '../services/access/actor.ts';
import type {Steps} from '../services/quarantine/merged-list.ts';
import {actorToRelay, positionAnswer} from '../services/quarantine/peer-hold-protocol.ts';
import type {PeerClient} from './peer-client.ts';

/** For an answer that only has to be looked up. */
const lookUpMs = 2000;
/** Longer than a caller waits, see `../services/quarantine/answer-limit.ts`. */
export const actionMs = 15_000;

/** What the owner of a mail says that its caller is to know. All else it refuses is between the two nodes. */
const forCallers: FaultCode[] = [
  'key_invalid',
  'key_revoked',
  'key_expired',
  'not_found',
  'unavailable',
  'node_unreachable',
  'outcome_unknown',
];
/** And what only an action can meet. */
const ofActions: Record<HoldAction, FaultCode[]> = {release: ['conflict', 'delivery_failed'], discard: ['conflict']};

/** Asks something that changes nothing: without an answer, nothing is lost but the answer. */
export const look = async <S extends z.ZodType>(client: PeerClient, path: string, {schema, body}: Look<S>) =>
  reading(client, async () => client.ask(schema, {method: 'POST', path, body, deadlineMs: lookUpMs, isForCaller: true}));

interface Look<S extends z.ZodType> {
  schema: S;
  body: unknown;
}

/** The same for an answer of any length. */
export const openStream = async (client: PeerClient, path: string, body: unknown) =>
  reading(client, async () => client.stream({method: 'POST', path, body, deadlineMs: lookUpMs, isForCaller: true}));

const reading = async <T>(client: PeerClient, question: () => Promise<T>): Promise<T> =>
  translating(client, forCallers, question).catch(error => {
    if (error instanceof Fault && error.code === 'outcome_unknown')
      throw unreachable(`node ${client.nodeId} did not answer; try again later`, error);
    throw error;
  });

/** Asks for something to be done; without an answer it may have been done. */
export const order = async <T>(client: PeerClient, action: HoldAction, question: () => Promise<T>): Promise<T> =>
  translating(client, [...forCallers, ...ofActions[action]], question);

const translating = async <T>(client: PeerClient, told: readonly FaultCode[], question: () => Promise<T>): Promise<T> => {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof Fault) || told.includes(error.code)) throw error;
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
    look(client, `${path}/list`, {schema: list, body: {actor: actorToRelay(actor), filter, page}}),
  samples: async (filter: F, steps: Steps, actor: Actor) =>
    look(client, `${path}/marks`, {schema: samples, body: {actor: actorToRelay(actor), filter, steps}}),
  async positionOf(filter: F, cursor: C, actor: Actor): Promise<number> {
    const body = {actor: actorToRelay(actor), filter, place: cursor};
    return (await look(client, `${path}/rank`, {schema: positionAnswer, body})).rank;
  },
});
