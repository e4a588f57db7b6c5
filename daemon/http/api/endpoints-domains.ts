// Endpoints of domains and what belongs to one: DNS records and DKIM keys. Their filters are in endpoints-filters.ts.
import {z} from 'zod';
import {digestPatchSchema, digestPreviewSchema, domainDigestSchema, sentDigestsSchema} from '../../../shared/digest.ts';
import {createDkimKeySchema, dkimKeySchema} from '../../../shared/dkim-key.ts';
import {createDomainSchema, domainPatchSchema, domainSchema} from '../../../shared/domain.ts';
import {domainDnsSchema} from '../../../shared/domain-dns.ts';
import {domainTestQuerySchema, domainTestSchema} from '../../../shared/domain-test.ts';
import {digestPreviewQuerySchema, dnsQuerySchema} from '../../../shared/hold-filter.ts';
import {appliedRetentionSchema, retentionPatchSchema} from '../../../shared/retention.ts';
import {etagOf} from '../../services/domains/domains.ts';
import {reply} from '../answer.ts';
import type {Ctx} from '../observe.ts';
import {idOf} from '../request-input.ts';
import {created, endpoint, gathered, type Headers, header, idParameter, ok} from './endpoint.ts';
import {replyGathered} from './gathered-answer.ts';

const ifMatch = () => ({'If-Match': z.string().optional().meta({description: 'Only if the domain still has this ETag'})});
const etag: Headers = {ETag: header('Validator for If-Match')};

export const domainEndpoints = [
  endpoint({
    method: 'get',
    path: '/domains',
    permission: 'domains:read',
    operationId: 'listDomains',
    tag: 'Mail domains',
    summary: 'All domains, by name',
    isCurated: true,
    answer: () => ok(z.array(domainSchema)),
    run: async (ctx, {domains}) => reply(ctx, domains.list(ctx.state.actor)),
  }),
  endpoint({
    method: 'post',
    path: '/domains',
    permission: 'domains:create',
    operationId: 'createDomain',
    tag: 'Mail domains',
    summary: 'Protect a domain',
    isCurated: true,
    body: {schema: createDomainSchema},
    answer: () => created(domainSchema, {headers: etag, moreHeaders: {Location: header('Path of the domain')}}),
    failures: [409],
    async run(ctx, {domains}) {
      const domain = await domains.create(ctx.state.actor, ctx.state.body);
      ctx.set({ETag: etagOf(domain), Location: `/api/v1/domains/${domain.id}`});
      reply(ctx, domain, 'Created');
    },
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}',
    permission: 'domains:read',
    operationId: 'getDomain',
    tag: 'Mail domains',
    summary: 'One domain',
    isCurated: true,
    params: idParameter,
    answer: () => ok(domainSchema, {headers: etag}),
    failures: [404],
    async run(ctx, {domains}) {
      const domain = domains.get(ctx.state.actor, idOf(ctx));
      ctx.set('ETag', etagOf(domain));
      reply(ctx, domain);
    },
  }),
  endpoint({
    method: 'put',
    path: '/domains/{id}',
    permission: 'domains:write',
    operationId: 'updateDomain',
    tag: 'Mail domains',
    summary: 'Change a domain: a complete object, or the members to change',
    isCurated: true,
    params: idParameter,
    headers: ifMatch,
    body: {schema: domainPatchSchema, isPatch: true},
    answer: () => ok(domainSchema, {headers: etag}),
    failures: [404, 412],
    async run(ctx, {domains}) {
      const domain = await domains.update(ctx.state.actor, idOf(ctx), ctx.state.body, ifMatchOf(ctx));
      ctx.set('ETag', etagOf(domain));
      reply(ctx, domain);
    },
  }),
  endpoint({
    method: 'delete',
    path: '/domains/{id}',
    permission: 'domains:write',
    operationId: 'deleteDomain',
    tag: 'Mail domains',
    summary: 'Delete a domain with its DKIM keys and filters; its held mail stays',
    isCurated: true,
    params: idParameter,
    headers: ifMatch,
    answer: () => ok(z.null()),
    failures: [404, 412],
    async run(ctx, {domains}) {
      await domains.remove(ctx.state.actor, idOf(ctx), ifMatchOf(ctx));
      reply(ctx, null);
    },
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/dkim-keys',
    permission: 'domains:read',
    operationId: 'listDkimKeys',
    tag: 'DKIM keys',
    summary: 'The DKIM keys of a domain, without their private keys',
    params: idParameter,
    answer: () => ok(z.array(dkimKeySchema)),
    failures: [404],
    run: async (ctx, {domainParts}) => reply(ctx, await domainParts.dkimKeys(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'post',
    path: '/domains/{id}/dkim-keys',
    permission: 'domains:write',
    operationId: 'createDkimKey',
    tag: 'DKIM keys',
    summary: 'Create a DKIM key; the answer has the DNS record to publish',
    params: idParameter,
    body: {schema: createDkimKeySchema},
    answer: () => created(dkimKeySchema),
    failures: [404, 409],
    run: async (ctx, {domainParts}) =>
      reply(ctx, await domainParts.addDkimKey(ctx.state.actor, idOf(ctx), ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'delete',
    path: '/domains/{id}/dkim-keys/{selector}',
    permission: 'domains:write',
    operationId: 'deleteDkimKey',
    tag: 'DKIM keys',
    summary: 'Remove a DKIM key',
    params: () => ({...idParameter(), selector: z.string().meta({description: 'Selector of the key'})}),
    answer: () => ok(z.null()),
    failures: [404],
    async run(ctx, {domainParts}) {
      await domainParts.removeDkimKey(ctx.state.actor, idOf(ctx), ctx.params.selector ?? '');
      reply(ctx, null);
    },
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/retention',
    permission: 'domains:read',
    operationId: 'getDomainRetention',
    tag: 'Mail domains',
    summary: 'How long mail of a domain is held: the setting of the domain, and what counts on the node that answers',
    params: idParameter,
    answer: () => ok(appliedRetentionSchema),
    failures: [404],
    run: async (ctx, {retentions}) => reply(ctx, retentions.get(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'put',
    path: '/domains/{id}/retention',
    permission: 'domains:write',
    operationId: 'setDomainRetention',
    tag: 'Mail domains',
    summary: 'Change how long mail of a domain is held, also mail that is held already',
    params: idParameter,
    body: {schema: retentionPatchSchema, isPatch: true},
    answer: () => ok(appliedRetentionSchema),
    failures: [404],
    run: async (ctx, {retentions}) => reply(ctx, await retentions.set(ctx.state.actor, idOf(ctx), ctx.state.body)),
  }),
  endpoint({
    method: 'delete',
    path: '/domains/{id}/retention',
    permission: 'domains:write',
    operationId: 'deleteDomainRetention',
    tag: 'Mail domains',
    summary: 'Hold mail of a domain for as long as the nodes are set to',
    params: idParameter,
    answer: () => ok(appliedRetentionSchema),
    failures: [404],
    run: async (ctx, {retentions}) => reply(ctx, await retentions.remove(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/digest',
    permission: 'domains:read',
    operationId: 'getDomainDigest',
    tag: 'Mail domains',
    summary: 'Whether, when and how recipients of a domain are told of the mail that is held for them',
    params: idParameter,
    answer: () => ok(domainDigestSchema),
    failures: [404],
    run: async (ctx, {digests}) => reply(ctx, await digests.get(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'put',
    path: '/domains/{id}/digest',
    permission: 'domains:write',
    operationId: 'setDomainDigest',
    tag: 'Mail domains',
    summary: 'Change whether, when and how recipients of a domain are told of the mail that is held for them',
    params: idParameter,
    body: {schema: digestPatchSchema, isPatch: true},
    answer: () => ok(domainDigestSchema),
    failures: [404, 409],
    run: async (ctx, {digests}) => reply(ctx, await digests.set(ctx.state.actor, idOf(ctx), ctx.state.body)),
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/digest/preview',
    permission: 'quarantine:read',
    operationId: 'previewDigest',
    tag: 'Mail domains',
    summary: 'The digest that a recipient would get now; nothing is sent',
    params: idParameter,
    query: digestPreviewQuerySchema,
    answer: () => gathered(digestPreviewSchema, 'Nodes whose mail is missing here'),
    failures: [404, 422],
    async run(ctx, {digestActions}, {address}) {
      const {result, unreachable} = await digestActions.preview(ctx.state.actor, idOf(ctx), address);
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'post',
    path: '/domains/{id}/digest/send',
    permission: 'domains:write',
    operationId: 'sendDigests',
    tag: 'Mail domains',
    summary: 'Send digests of a domain now, about mail that was in none yet',
    params: idParameter,
    answer: () => ok(sentDigestsSchema),
    failures: [404, 409, 504],
    run: async (ctx, {digestActions}) => reply(ctx, await digestActions.sendNow(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/dns',
    permission: 'domains:read',
    operationId: 'getDomainDns',
    tag: 'Mail domains',
    summary: 'The DNS records of a domain as they should be, and whether DNS has them',
    params: idParameter,
    query: dnsQuerySchema,
    answer: () => ok(domainDnsSchema),
    failures: [404],
    run: async (ctx, {dns}, {check}) => reply(ctx, await dns.of(ctx.state.actor, idOf(ctx), {isChecked: check})),
  }),
  endpoint({
    method: 'get',
    path: '/domains/{id}/test',
    permission: 'domains:read',
    operationId: 'testDomain',
    tag: 'Mail domains',
    summary: 'Ask the backends of a domain, the scanner and DNS whether its mail will work; takes up to 30 seconds',
    params: idParameter,
    query: domainTestQuerySchema,
    answer: () => ok(domainTestSchema),
    failures: [404],
    run: async (ctx, {domainTests}, {only}) =>
      reply(ctx, await domainTests.run(ctx.state.actor, idOf(ctx), {isConnectionOnly: only === 'connection'})),
  }),
];

/** Read from the raw headers: an empty header is a condition that always fails, and differs from no header. */
const ifMatchOf = (ctx: Ctx): string | undefined => ctx.req.headers['if-match'];
