// Answers to the questions of other nodes on behalf of their callers. Nothing here asks anybody else.

import type {z} from 'zod';
import type {Actor, PeerActors, RelayedActor} from '../../services/actor.ts';
import {type Question, withActor} from '../../services/peers/question.ts';
import {bodyQuestion} from '../../services/quarantine/hold-questions.ts';
import type {HoldQueue} from '../../services/quarantine/stored-mail.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {peerJsonBody} from '../request-input.ts';
import type {PeerCtx, PeerRouter} from './peer-app.ts';

type Declared<Asked extends z.ZodObject> = Pick<Question<unknown, Asked>, 'path' | 'permission' | 'request'>;

/** Routes one question. `answer` gets what is asked, of a caller whom this node knows and permits it. */
const routeQuestion = <Asked extends z.ZodObject>(
  router: PeerRouter,
  {path, permission, request}: Declared<Asked>,
  actors: PeerActors,
  answer: (ctx: PeerCtx, asked: z.output<Asked>, actor: Actor) => Promise<void>,
): void => {
  const schema = withActor(request);
  router.post(`/${path}`, peerJsonBody, async ctx => {
    const {actor, ...asked} = validate(schema, ctx.state.body) as {actor: RelayedActor};
    await answer(ctx, asked as z.output<Asked>, await actors.admit(actor, permission, ctx.state.peer));
  });
};

export const routeQuestions =
  <Of>(actors: PeerActors, of: Of, questions: Readonly<Record<string, Question<Of>>>) =>
  (router: PeerRouter): void => {
    for (const question of Object.values(questions))
      routeQuestion(router, question, actors, async (ctx, asked, actor) => reply(ctx, await question.run(of, asked, actor)));
  };

export const routeMailBodies =
  (actors: PeerActors, queue: HoldQueue) =>
  (router: PeerRouter): void => {
    routeQuestion(router, bodyQuestion, actors, async (ctx, {queue_id}, actor) => {
      const {sizeBytes, stream} = await queue.body(queue_id, actor);
      ctx.status = 200;
      ctx.body = stream;
      ctx.set({'Content-Type': 'text/rfc822', 'Content-Length': String(sizeBytes)});
    });
  };
