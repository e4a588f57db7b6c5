import type {ComponentType} from 'react';
import {AuditScreen} from './screens/audit/audit-screen.tsx';
import {ClusterScreen} from './screens/cluster/cluster-screen.tsx';
import {DomainsScreen} from './screens/domains/domains-screen.tsx';
import {EventsScreen} from './screens/events/events-screen.tsx';
import {KeysScreen} from './screens/keys/keys-screen.tsx';
import {QuarantineScreen} from './screens/quarantine/quarantine-screen.tsx';
import type {ScreenName} from './shell/shell.ts';

export const screens: Record<ScreenName, ComponentType> = {
  cluster: ClusterScreen,
  quarantine: QuarantineScreen,
  domains: DomainsScreen,
  keys: KeysScreen,
  audit: AuditScreen,
  events: EventsScreen,
};
