// Rules of domains, apart from the schemas: mfctl checks files with them and does not load the schemas.

export const directions = ['inbound', 'outbound', 'both'] as const;

/** Settings of a new domain that its creator leaves out. */
export const domainDefaults = {
  direction: 'inbound',
  active: true,
  backend_servers: [] as string[],
  quarantine_threshold: 6,
  reject_threshold: 15,
  dkim_active: false,
  dmarc_reporting: false,
  tenant_id: null,
} as const;

export const scoreRange = {min: -1000, max: 10_000};
export const maxBackends = 32;
export const maxTenantChars = 100;

interface Settings {
  direction: (typeof directions)[number];
  backend_servers: string[];
  quarantine_threshold: number;
  reject_threshold: number;
}

/** Values of a wrong type pass here and below: the schema reports them. */
export const hasBackend = ({direction, backend_servers: servers}: Partial<Settings>): boolean =>
  (direction !== 'inbound' && direction !== 'both') || !Array.isArray(servers) || servers.length > 0;

export const areThresholdsInOrder = ({quarantine_threshold, reject_threshold}: Partial<Settings>): boolean =>
  typeof quarantine_threshold !== 'number' || typeof reject_threshold !== 'number' || quarantine_threshold <= reject_threshold;
