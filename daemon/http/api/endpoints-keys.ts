import {z} from 'zod';
import {apiKeySchema, createApiKeySchema, createdApiKeySchema, meSchema, revokeApiKeySchema} from '../../../shared/api-key.ts';
import {forceQuerySchema} from '../../../shared/hold-filter.ts';
import {nameUnreachable, reply} from '../answer.ts';
import {idOf} from '../request-input.ts';
import {created, endpoint, idParameter, ok, unreachableNodes} from './endpoint.ts';

const notYetEverywhere = {moreHeaders: unreachableNodes('Nodes that have not applied the change yet')};

export const keyEndpoints = [
  endpoint({
    method: 'get',
    path: '/auth/me',
    permission: 'me:read',
    operationId: 'getMe',
    tag: 'Auth',
    summary: 'The key of this request, its permissions and the node that answered',
    isCurated: true,
    answer: () => ok(meSchema),
    run: async (ctx, {keys}) => reply(ctx, await keys.me(ctx.state.actor.keyId)),
  }),
  endpoint({
    method: 'get',
    path: '/auth/api-keys',
    permission: 'keys:read',
    operationId: 'listApiKeys',
    tag: 'API keys',
    summary: 'All keys, without their values',
    isCurated: true,
    answer: () => ok(z.array(apiKeySchema)),
    run: async (ctx, {keys}) => reply(ctx, await keys.list()),
  }),
  endpoint({
    method: 'post',
    path: '/auth/api-keys',
    permission: 'keys:write',
    operationId: 'createApiKey',
    tag: 'API keys',
    summary: 'Create a key; its value is in this answer only',
    isCurated: true,
    body: {schema: createApiKeySchema},
    answer: () => created(createdApiKeySchema),
    run: async (ctx, {keys}) => reply(ctx, await keys.create(ctx.state.actor, ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'post',
    path: '/auth/api-keys/{id}/revoke',
    permission: 'keys:write',
    operationId: 'revokeApiKey',
    tag: 'API keys',
    summary: 'Revoke a key, at once or at a later time; its record stays',
    isCurated: true,
    params: idParameter,
    query: forceQuerySchema,
    body: {schema: revokeApiKeySchema, isOptional: true},
    answer: () => ok(apiKeySchema, notYetEverywhere),
    failures: [404, 409],
    async run(ctx, {keys}, {force}) {
      const {key, unreachable} = await keys.revoke(ctx.state.actor, idOf(ctx), {body: ctx.state.body, isForced: force});
      nameUnreachable(ctx, unreachable);
      reply(ctx, key);
    },
  }),
  endpoint({
    method: 'delete',
    path: '/auth/api-keys/{id}',
    permission: 'keys:write',
    operationId: 'deleteApiKey',
    tag: 'API keys',
    summary: 'Remove a key and its audit-log mapping',
    isCurated: true,
    params: idParameter,
    query: forceQuerySchema,
    answer: () => ok(z.null(), notYetEverywhere),
    failures: [404, 409],
    async run(ctx, {keys}, {force}) {
      const {unreachable} = await keys.remove(ctx.state.actor, idOf(ctx), force);
      nameUnreachable(ctx, unreachable);
      reply(ctx, null);
    },
  }),
];
