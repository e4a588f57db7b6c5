// Rules of fields that both programs check. Without zod, which mfctl does not load.
/** Without flags, as the API description cannot express them. */
export const labelPattern = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$/;

export const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);

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

export const dkimAlgorithms = ['rsa-2048', 'ed25519'] as const;
export type DkimAlgorithm = (typeof dkimAlgorithms)[number];

export const maxSelectorChars = 63;

/** A selector is one or more DNS labels (RFC 6376 section 3.1). */
export const selectorShape = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
