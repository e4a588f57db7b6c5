import type {Domain} from '../shared/domain.ts';
import {dateText, firstOf, timeText} from './cell-text.ts';
import type {Column} from './column.ts';
import type {Detail} from './table.ts';

export const domainColumns: Column<Domain>[] = [
  {title: 'ID', cell: domain => domain.id, align: 'right'},
  {title: 'NAME', cell: domain => domain.name, isFlexible: true},
  {title: 'DIRECTION', cell: domain => domain.direction, dropRank: 3},
  {title: 'ACTIVE', cell: domain => domain.active, tone: domain => (domain.active ? undefined : 'warn')},
  {title: 'BACKENDS', cell: domain => firstOf(domain.backend_servers), isFlexible: true},
  {title: 'QUARANTINE', cell: domain => domain.quarantine_threshold, align: 'right'},
  {title: 'REJECT', cell: domain => domain.reject_threshold, align: 'right'},
  {title: 'DKIM', cell: domain => domain.dkim_active, dropRank: 2},
  {title: 'UPDATED', cell: domain => timeText(domain.updated_at), brief: domain => dateText(domain.updated_at), dropRank: 1},
];

export const domainDetails = (domain: Domain): Detail[] => [
  ['ID', domain.id],
  ['Name', domain.name],
  ['Direction', domain.direction],
  ['Active', domain.active],
  ['Backends', domain.backend_servers],
  ['Quarantine at', domain.quarantine_threshold],
  ['Reject at', domain.reject_threshold],
  ['DKIM', domain.dkim_active],
  ['DMARC reporting', domain.dmarc_reporting],
  ['Tenant', domain.tenant_id],
  ['Created', timeText(domain.created_at)],
  ['Updated', timeText(domain.updated_at)],
];
