// Endpoints of the filters of one domain, and of those for all domains. Reading the latter takes the permission to change them: they may
// name what concerns other tenants.
import {z} from 'zod';
import {id} from '../../../shared/fields.ts';
import {createMailFilterSchema, globalFilterSchema, mailFilterSchema} from '../../../shared/mail-filter.ts';
import {reply} from '../answer.ts';
import {idOf} from '../request-input.ts';
import {created, endpoint, idParameter, ok} from './endpoint.ts';

export const filterEndpoints = [
  endpoint({
    method: 'get',
    path: '/domains/{id}/filters',
    permission: 'domains:read',
    operationId: 'listMailFilters',
    tag: 'Mail filters',
    summary: 'The filters of a domain',
    params: idParameter,
    answer: () => ok(z.array(mailFilterSchema)),
    failures: [404],
    run: async (ctx, {domainParts}) => reply(ctx, await domainParts.filters(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'post',
    path: '/domains/{id}/filters',
    permission: 'domains:write',
    operationId: 'createMailFilter',
    tag: 'Mail filters',
    summary: 'Add a filter to a domain',
    params: idParameter,
    body: {schema: createMailFilterSchema},
    answer: () => created(mailFilterSchema),
    failures: [404, 409],
    run: async (ctx, {domainParts}) =>
      reply(ctx, await domainParts.addFilter(ctx.state.actor, idOf(ctx), ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'delete',
    path: '/domains/{id}/filters/{filter_id}',
    permission: 'domains:write',
    operationId: 'deleteMailFilter',
    tag: 'Mail filters',
    summary: 'Remove a filter',
    params: () => ({...idParameter(), filter_id: id.meta({description: 'Identifier of the filter'})}),
    answer: () => ok(z.null()),
    failures: [404],
    async run(ctx, {domainParts}) {
      await domainParts.removeFilter(ctx.state.actor, idOf(ctx), idOf(ctx, 'filter_id'));
      reply(ctx, null);
    },
  }),
  endpoint({
    method: 'get',
    path: '/filters',
    permission: 'cluster:write',
    operationId: 'listGlobalFilters',
    tag: 'Mail filters',
    summary: 'The filters for all domains',
    answer: () => ok(z.array(globalFilterSchema)),
    run: async (ctx, {globalFilters}) => reply(ctx, await globalFilters.list()),
  }),
  endpoint({
    method: 'post',
    path: '/filters',
    permission: 'cluster:write',
    operationId: 'createGlobalFilter',
    tag: 'Mail filters',
    summary: 'Add a filter for all domains, which their own filters override where both are equally specific',
    body: {schema: createMailFilterSchema},
    answer: () => created(globalFilterSchema),
    failures: [409],
    run: async (ctx, {globalFilters}) => reply(ctx, await globalFilters.add(ctx.state.actor, ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'delete',
    path: '/filters/{id}',
    permission: 'cluster:write',
    operationId: 'deleteGlobalFilter',
    tag: 'Mail filters',
    summary: 'Remove a filter for all domains',
    params: idParameter,
    answer: () => ok(z.null()),
    failures: [404],
    async run(ctx, {globalFilters}) {
      await globalFilters.remove(ctx.state.actor, idOf(ctx));
      reply(ctx, null);
    },
  }),
];
