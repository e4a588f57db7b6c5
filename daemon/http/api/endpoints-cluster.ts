import {clusterDriftSchema} from '../../../shared/cluster-drift.ts';
import {clusterNodeSchema, removedNodeSchema} from '../../../shared/cluster-node.ts';
import {clusterStatusSchema} from '../../../shared/cluster-status.ts';
import {removeNodeQuerySchema} from '../../../shared/hold-filter.ts';
import {createdTokenSchema, tokenOrderSchema} from '../../services/cluster/join-protocol.ts';
import {nameUnreachable, reply} from '../answer.ts';
import {nodeIdOf} from '../request-input.ts';
import {created, endpoint, nodeParameter, ok, unreachableNodes} from './endpoint.ts';

export const clusterEndpoints = [
  endpoint({
    method: 'get',
    path: '/cluster/status',
    permission: 'cluster:read',
    operationId: 'getClusterStatus',
    tag: 'Cluster',
    summary: 'Health snapshot of all nodes',
    isCurated: true,
    answer: () => ok(clusterStatusSchema),
    run: async (ctx, {cluster}) => reply(ctx, await cluster.statusFor(ctx.state.actor)),
  }),
  endpoint({
    method: 'get',
    path: '/cluster/drift',
    permission: 'cluster:read',
    operationId: 'getClusterDrift',
    tag: 'Cluster',
    summary: 'How the configuration of this node differs from that of the others',
    answer: () => ok(clusterDriftSchema()),
    run: async (ctx, {explainDrift}) => reply(ctx, await explainDrift()),
  }),
  endpoint({
    method: 'post',
    path: '/cluster/tokens',
    permission: 'cluster:write',
    operationId: 'createJoinToken',
    tag: 'Cluster',
    summary: 'Create a token that admits one more node',
    body: {schema: tokenOrderSchema, isOptional: true},
    answer: () => created(createdTokenSchema),
    run: async (ctx, {joinTokens}) => reply(ctx, await joinTokens.create(ctx.state.actor, ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'get',
    path: '/cluster/nodes/{node_id}',
    permission: 'cluster:write',
    operationId: 'getNode',
    tag: 'Cluster',
    summary: 'A node with the API keys that were created on it',
    params: nodeParameter,
    answer: () => ok(clusterNodeSchema()),
    failures: [404],
    run: async (ctx, {removal}) => reply(ctx, await removal.describe(nodeIdOf(ctx))),
  }),
  endpoint({
    method: 'delete',
    path: '/cluster/nodes/{node_id}',
    permission: 'cluster:write',
    operationId: 'removeNode',
    tag: 'Cluster',
    summary: 'Remove a node from the cluster for good',
    params: nodeParameter,
    query: removeNodeQuerySchema,
    answer: () => ok(removedNodeSchema().nullable(), {headers: unreachableNodes('Nodes that have not applied the change yet')}),
    failures: [404, 409],
    async run(ctx, {removal}, {force, revoke_keys}) {
      const options = {isForced: force, revokesKeys: revoke_keys};
      const {unreachable, removed} = await removal.remove(ctx.state.actor, nodeIdOf(ctx), options);
      nameUnreachable(ctx, unreachable);
      reply(ctx, removed);
    },
  }),
];
