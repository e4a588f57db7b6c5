// Questions between nodes on behalf of a caller. Each is declared once, for asking and for answering.
import {z} from 'zod';
import type {Page} from '../../../shared/hold-filter.ts';
import type {Permission} from '../../../shared/scopes.ts';
import {type Actor, relayedActorSchema} from '../actor.ts';
import type {Samples, Steps} from './merged-list.ts';

/** A question to `Of`: the hold queue, the audit log or another part of a node. */
export interface Question<Of, Asked extends z.ZodObject = z.ZodObject, Answer extends z.ZodType = z.ZodType> {
  /** Below `/peer/v1/`. */
  path: string;
  /** What the caller needs, as the node knows him that answers. */
  permission: Permission;
  /** The request without its actor. */
  request: Asked;
  /** The answer of the node `owner`, which can only speak for itself. Members of a newer version are left out. */
  answer(owner: string): Answer;
  run(of: Of, request: z.output<Asked>, actor: Actor): Promise<z.input<Answer>>;
}

export const question = <Of, Asked extends z.ZodObject, Answer extends z.ZodType>(
  declared: Question<Of, Asked, Answer>,
): Question<Of, Asked, Answer> => declared;

/** Another node, to be asked on behalf of a caller. */
export interface AskedNode {
  readonly nodeId: string;
  /** Asks what changes nothing. Rejects with a Fault of `gather.ts` or of the caller's key. */
  ask<Asked extends z.ZodObject, Answer extends z.ZodType>(
    question: Question<never, Asked, Answer>,
    request: z.input<Asked>,
    actor: Actor,
  ): Promise<z.output<Answer>>;
}

/** A request as it is sent. */
export const withActor = <Asked extends z.ZodObject>(request: Asked) => request.extend({actor: relayedActorSchema});

/** One node's part of a list that is merged from many, see `readMerged`. */
interface ListPart<F, C, Entries> {
  list(filter: F, page: Page, actor: Actor): Promise<Entries>;
  samples(filter: F, steps: Steps, actor: Actor): Promise<Samples<C>>;
  positionOf(filter: F, cursor: C, actor: Actor): Promise<number>;
}

interface ListNeeds<F, C, Answer> {
  /** The first part of the paths. */
  name: string;
  permission: Permission;
  filter: z.ZodType<F>;
  cursor: z.ZodType<C>;
  /** See `Question`. */
  answer(owner: string): Answer;
  cursorOf(owner: string): z.ZodType<C>;
}

/** More entries than any node has. Times `limit`, a much larger number would no longer be an integer for SQLite. */
const position = z.int().min(0).max(1e11);
/** A page together with the entries before it. */
const page = z.object({limit: z.int().min(1).max(100_000), offset: position});
const steps = z.object({offset: position, stride: position.min(1), limit: z.int().min(1).max(10_000)});
const count = z.int().min(0);

export const listQuestions = <F, C, Answer extends z.ZodType>({
  name,
  permission,
  filter,
  cursor,
  answer,
  cursorOf,
}: ListNeeds<F, C, Answer>) => {
  type Part = ListPart<F, C, z.input<Answer>>;
  return {
    list: question({
      ...{path: `${name}/list`, permission, answer},
      request: z.object({filter, page}),
      run: async (part: Part, asked, actor) => part.list(asked.filter, asked.page, actor),
    }),
    samples: question({
      ...{path: `${name}/marks`, permission},
      request: z.object({filter, steps}),
      answer: owner => z.object({marks: z.array(cursorOf(owner)), total: count}),
      run: async (part: Part, asked, actor) => part.samples(asked.filter, asked.steps, actor),
    }),
    positionOf: question({
      ...{path: `${name}/rank`, permission},
      request: z.object({filter, place: cursor}),
      answer: () => z.object({rank: count}),
      run: async (part: Part, asked, actor) => ({rank: await part.positionOf(asked.filter, asked.place, actor)}),
    }),
  };
};

export type ListQuestions<F, C, Answer extends z.ZodType> = ReturnType<typeof listQuestions<F, C, Answer>>;

/** The part of another node. */
export const remoteList = <F, C, Answer extends z.ZodType>(
  {ask}: Pick<AskedNode, 'ask'>,
  questions: ListQuestions<F, C, Answer>,
) => ({
  list: async (filter: F, page: Page, actor: Actor) => ask(questions.list, {filter, page}, actor),
  samples: async (filter: F, steps: Steps, actor: Actor) => ask(questions.samples, {filter, steps}, actor),
  positionOf: async (filter: F, cursor: C, actor: Actor) =>
    (await ask(questions.positionOf, {filter, place: cursor}, actor)).rank,
});
