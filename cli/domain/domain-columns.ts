import type {Domain} from '../../shared/domain.ts';
import {dateText, firstOf, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Detail, Listed, Shown} from '../output/table.ts';

const columns: Column<Domain>[] = [
  {title: 'ID', cell: domain => domain.id, align: 'right'},
  {title: 'NAME', cell: domain => domain.name, isFlexible: true},
  {title: 'DIRECTION', cell: domain => domain.direction, dropRank: 3},
  {title: 'ACTIVE', cell: domain => domain.active, tone: domain => (domain.active ? undefined : 'warn')},
  {
    title: 'BACKENDS',
    cell: domain => firstOf(domain.backend_servers),
    wide: domain => domain.backend_servers.join(', '),
    isFlexible: true,
  },
  {title: 'QUARANTINE', cell: domain => domain.quarantine_threshold, align: 'right'},
  {title: 'REJECT', cell: domain => domain.reject_threshold, align: 'right'},
  {title: 'DKIM', cell: domain => domain.dkim_active, dropRank: 2},
  {title: 'UPDATED', cell: domain => timeText(domain.updated_at), brief: domain => dateText(domain.updated_at), dropRank: 1},
  {title: 'DMARC REPORTING', cell: domain => domain.dmarc_reporting, isWideOnly: true},
  {title: 'TENANT', cell: domain => domain.tenant_id, isWideOnly: true},
  {title: 'CREATED', cell: domain => timeText(domain.created_at), isWideOnly: true},
];

const details = (domain: Domain): Detail[] => [
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

export const domains: Listed<Domain> & Shown<Domain> = {
  fields: [
    ...['id', 'name', 'direction', 'active', 'backend_servers', 'quarantine_threshold', 'reject_threshold'],
    ...['dkim_active', 'dmarc_reporting', 'tenant_id', 'created_at', 'updated_at'],
  ],
  nameOf: ({name}) => name,
  columns,
  details,
  isShort: true,
  none: 'no domains; create one: mfctl domain create --help',
};
