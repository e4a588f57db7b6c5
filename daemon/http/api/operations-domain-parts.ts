// Operations on mail filters, DKIM keys and DNS records in the administrators' API description.
import {z} from 'zod';
import {createDkimKeySchema, dkimKeySchema} from '../../../shared/dkim-key.ts';
import {domainDnsSchema} from '../../../shared/domain-dns.ts';
import {id} from '../../../shared/fields.ts';
import {dnsQuerySchema} from '../../../shared/hold-filter.ts';
import {createMailFilterSchema, globalFilterSchema, mailFilterSchema} from '../../../shared/mail-filter.ts';
import {body, bodyFailures, created, idParameter, type Operation, ok} from './operation.ts';

const filterParameters = idParameter.extend({filter_id: id.meta({description: 'Identifier of the filter'})});
const dkimKeyParameters = idParameter.extend({selector: z.string().meta({description: 'Selector of the key'})});

export const domainPartOperations: Operation[] = [
  {
    method: 'get',
    path: '/domains/{id}/filters',
    operationId: 'listMailFilters',
    tag: 'Mail filters',
    summary: 'The filters of a domain',
    request: {params: idParameter},
    success: ok(z.array(mailFilterSchema)),
    failures: [404],
  },
  {
    method: 'post',
    path: '/domains/{id}/filters',
    operationId: 'createMailFilter',
    tag: 'Mail filters',
    summary: 'Add a filter to a domain',
    request: {params: idParameter, ...body(createMailFilterSchema)},
    success: created(mailFilterSchema),
    failures: [404, 409, ...bodyFailures],
  },
  {
    method: 'delete',
    path: '/domains/{id}/filters/{filter_id}',
    operationId: 'deleteMailFilter',
    tag: 'Mail filters',
    summary: 'Remove a filter',
    request: {params: filterParameters},
    success: ok(z.null()),
    failures: [404],
  },
  {
    method: 'get',
    path: '/filters',
    operationId: 'listGlobalFilters',
    tag: 'Mail filters',
    summary: 'The filters for all domains',
    success: ok(z.array(globalFilterSchema)),
  },
  {
    method: 'post',
    path: '/filters',
    operationId: 'createGlobalFilter',
    tag: 'Mail filters',
    summary: 'Add a filter for all domains, which their own filters override where both match equally exactly',
    request: body(createMailFilterSchema),
    success: created(globalFilterSchema),
    failures: [409, ...bodyFailures],
  },
  {
    method: 'delete',
    path: '/filters/{id}',
    operationId: 'deleteGlobalFilter',
    tag: 'Mail filters',
    summary: 'Remove a filter for all domains',
    request: {params: idParameter},
    success: ok(z.null()),
    failures: [404],
  },
  {
    method: 'get',
    path: '/domains/{id}/dkim-keys',
    operationId: 'listDkimKeys',
    tag: 'DKIM keys',
    summary: 'The DKIM keys of a domain, without their private keys',
    request: {params: idParameter},
    success: ok(z.array(dkimKeySchema)),
    failures: [404],
  },
  {
    method: 'post',
    path: '/domains/{id}/dkim-keys',
    operationId: 'createDkimKey',
    tag: 'DKIM keys',
    summary: 'Create a DKIM key; the answer has the DNS record to publish',
    request: {params: idParameter, ...body(createDkimKeySchema)},
    success: created(dkimKeySchema),
    failures: [404, 409, ...bodyFailures],
  },
  {
    method: 'delete',
    path: '/domains/{id}/dkim-keys/{selector}',
    operationId: 'deleteDkimKey',
    tag: 'DKIM keys',
    summary: 'Remove a DKIM key',
    request: {params: dkimKeyParameters},
    success: ok(z.null()),
    failures: [404],
  },
  {
    method: 'get',
    path: '/domains/{id}/dns',
    operationId: 'getDomainDns',
    tag: 'Mail domains',
    summary: 'The DNS records of a domain as they should be, and whether DNS has them',
    request: {params: idParameter, query: dnsQuerySchema},
    success: ok(domainDnsSchema),
    failures: [404],
  },
];
