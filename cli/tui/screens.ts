import type {ComponentType} from 'react';
import {AuditScreen} from './audit/audit-screen.tsx';
import {ClusterScreen} from './cluster/cluster-screen.tsx';
import {DomainsScreen} from './domains/domains-screen.tsx';
import {EventsScreen} from './events/events-screen.tsx';
import type {ScreenName} from './frame.ts';
import {KeysScreen} from './keys/keys-screen.tsx';
import {QuarantineScreen} from './quarantine/quarantine-screen.tsx';

export const screens: Record<ScreenName, ComponentType> = {
  cluster: ClusterScreen,
  quarantine: QuarantineScreen,
  domains: DomainsScreen,
  keys: KeysScreen,
  audit: AuditScreen,
  events: EventsScreen,
};
