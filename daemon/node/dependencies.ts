// What this node depends on, with the way to check each.
import {stat} from 'node:fs/promises';
import type {Problem} from '../../shared/cluster-status.ts';
import {groupBy} from '../../shared/collections.ts';
import type {Domain} from '../../shared/domain.ts';
import {Fault} from '../../shared/fault.ts';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import {connectionReason} from '../../shared/system-error.ts';
import type {BackendPool} from '../mail/backend/backend-pool.ts';
import {createDependencies, type Dependencies, type Dependency} from '../services/dependencies/dependencies.ts';
import type {Scorer} from '../services/intake/mail.ts';
import type {Base} from './base.ts';
import type {LiveSettings} from './live-settings.ts';
import {storeFault} from './storage.ts';

/** How long nothing has to have used them before they are checked. */
const quiet = {scannerMs: 10_000, backendMs: 60_000, dnsMs: 60_000};
/** How often they are checked while they do not work. */
const retry = {scannerMs: 2000, backendMs: 10_000, dnsMs: 10_000};
const storeMs = 1000;
const passwordMs = 10_000;

/** With the store and the scanner; the other parts are watched where they are opened. */
export const openDependencies = ({
  settings,
  storage: {engine},
  log,
  now,
}: Pick<Base, 'settings' | 'storage' | 'log' | 'now'>): Dependencies => {
  const dependencies = createDependencies({
    now,
    monotonic: () => performance.now(),
    onProblem: problem => log.warn(problem, logTexts(problem).begins),
    onEnd: ({part, name, since}) => log.info({part, name, since}, logTexts({part}).ends),
  });
  const store: Dependency = {
    ...{part: 'store', name: '', refusesMail: true, quietMs: storeMs, retryMs: storeMs},
    check: async () => storeFault(engine),
  };
  dependencies.watch(() => {
    const {scorer, onScorerFailure, passwordFiles} = settings();
    const files = passwordFiles.map(passwordFile);
    if (!scorer.check) return [store, ...files];
    const scanner: Dependency = {
      ...{part: 'scanner', name: '', refusesMail: onScorerFailure === 'tempfail'},
      ...{quietMs: quiet.scannerMs, retryMs: retry.scannerMs, isCheckedFirst: true},
      check: async () => scannerFault({scorer}),
    };
    return [store, scanner, ...files];
  });
  return dependencies;
};

const logTexts = ({part}: Pick<Problem, 'part'>): {begins: string; ends: string} =>
  part === 'password_file'
    ? {begins: 'every user of this machine can read a password file', ends: 'a password file is no longer open to every user'}
    : {begins: 'a part that this node depends on does not work', ends: 'a part that this node depends on works again'};

/**
 * One that every user of the machine can read is told of and not refused: secrets that are mounted have such modes. Its key is named,
 * never its path, as other nodes and people read it.
 */
const passwordFile = ({key, file}: LiveSettings['passwordFiles'][number]): Dependency => ({
  ...{part: 'password_file', name: key, quietMs: passwordMs, retryMs: passwordMs, isCheckedFirst: true},
  check: async () => passwordFileFault(file),
});

const otherMayRead = 0o004;

/** Undefined where not every user can read it, and where it is not there. */
export const passwordFileFault = async (file: string): Promise<string | undefined> => {
  const mode = await stat(file).then(
    found => found.mode,
    () => 0,
  );
  return (mode & otherMayRead) === 0 ? undefined : 'every user of this machine can read it';
};

/** Why the scanner is not there; undefined when it is. */
export const scannerFault = async ({scorer}: Pick<LiveSettings, 'scorer'>): Promise<string | undefined> =>
  scorer.check?.().then(() => undefined, reasonOf);

/** The scorer of the settings, whose answers are noted. */
export const watchedScorer = ({settings, dependencies}: Pick<Base, 'settings' | 'dependencies'>): Scorer => ({
  async score(mail) {
    try {
      const score = await settings().scorer.score(mail);
      dependencies.worked('scanner');
      return score;
    } catch (error) {
      dependencies.failed('scanner', {detail: reasonOf(error)});
      throw error;
    }
  },
});

export const watchBackends = (
  {records: {domainDirectory}, dependencies}: Pick<Base, 'records' | 'dependencies'>,
  pool: Pick<BackendPool, 'check'>,
): void => {
  let known: {domains: readonly Domain[]; backends: Dependency[]} = {domains: [], backends: []};
  dependencies.watch(() => {
    const domains = domainDirectory.list();
    // The directory gives another list after each change.
    if (domains !== known.domains) known = {domains, backends: backendsOf(domains, pool)};
    return known.backends;
  });
};

/** Through which outbound mail and reports leave. */
export const watchSmarthost = (
  {settings, dependencies}: Pick<Base, 'settings' | 'dependencies'>,
  pool: Pick<BackendPool, 'check'>,
): void =>
  dependencies.watch(() =>
    (settings().smarthost?.servers ?? []).map(server => ({
      ...{part: 'smarthost', name: formatHostPort(server), quietMs: quiet.backendMs, retryMs: retry.backendMs},
      check: async () => pool.check(server),
    })),
  );

/** For each transaction with a server: why it could not be used, if that is so. */
export const noteUse =
  ({settings, dependencies}: Pick<Base, 'settings' | 'dependencies'>) =>
  (name: string, detail?: string): void => {
    const isSmarthost = settings().smarthost?.servers.some(server => formatHostPort(server) === name) ?? false;
    for (const part of isSmarthost ? (['backend', 'smarthost'] as const) : (['backend'] as const))
      if (detail === undefined) dependencies.worked(part, name);
      else dependencies.failed(part, {name, detail});
  };

/** The servers that inbound mail is relayed to at present. */
const backendsOf = (domains: readonly Domain[], pool: Pick<BackendPool, 'check'>): Dependency[] => {
  const namesOf = new Map<string, string[]>();
  for (const {name, active, direction, backend_servers} of domains) {
    if (!active || direction === 'outbound') continue;
    for (const text of backend_servers) {
      const server = parseHostPort(text);
      if (!server) continue;
      const key = formatHostPort(server);
      const names = namesOf.get(key) ?? [];
      if (!names.includes(name)) names.push(name);
      namesOf.set(key, names);
    }
  }
  return [...namesOf].map(([name, names]) => ({
    ...{part: 'backend', name, domains: names, quietMs: quiet.backendMs, retryMs: retry.backendMs, isCheckedFirst: true},
    async check() {
      const server = parseHostPort(name);
      return server && pool.check(server);
    },
  }));
};

export const watchNameServers = (
  {settings, dependencies}: Pick<Base, 'settings' | 'dependencies'>,
  check: () => Promise<boolean>,
): void => {
  const nameServers: Dependency = {
    ...{part: 'name_servers', name: '', quietMs: quiet.dnsMs, retryMs: retry.dnsMs},
    check: async () => ((await check()) ? undefined : muteText),
  };
  dependencies.watch(() => (settings().isMailVerified ? [nameServers] : []));
};

export const muteText = 'no answer in time';

/** Postfix is polled all the time. */
export const watchPostfix = ({dependencies}: Pick<Base, 'dependencies'>): void => {
  const never = Number.POSITIVE_INFINITY;
  const postfix: Dependency = {part: 'postfix', name: '', quietMs: never, retryMs: never, check: async () => undefined};
  dependencies.watch(() => [postfix]);
};

/**
 * What does not work and does not stop mail, in a line for each part. `/readyz` has them, and asks for no key: so they name no address and
 * no domain, repeat nothing that a server has said, and do not say that a password file is open: it works.
 */
export const publicRemarks = (problems: readonly Problem[]): string[] =>
  [
    ...groupBy(
      problems.filter(({part, refuses_mail}) => !refuses_mail && part !== 'password_file'),
      ({part}) => part,
    ),
  ].map(([part, of]) => remarkText(part, of.map(({since}) => since).toSorted()));

const remarkText = (part: string, [since, ...later]: readonly string[]): string => {
  switch (part) {
    case 'scanner':
      return `the scanner does not work since ${since}, and mail passes without a score`;
    case 'name_servers':
      return `the name servers do not answer since ${since}`;
    case 'postfix_log':
      return `the log of Postfix cannot be read since ${since}`;
    case 'digest':
      return `digests do not arrive since ${since}`;
    case 'recipients_url':
      return `the address of the pages for recipients does not lead to them since ${since}`;
    case 'postfix':
      return `the queue of Postfix cannot be read since ${since}`;
    default:
      return later.length === 0
        ? `1 ${part} does not work since ${since}`
        : `${later.length + 1} ${part}s do not work, the first since ${since}`;
  }
};

/** With the cause: a Fault alone is for callers, who do not learn the addresses here. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const {cause} = error;
  const text = error instanceof Fault ? error.detail : error.message;
  const reason = cause instanceof Error ? connectionReason(cause) : '';
  return reason === '' ? text : `${text}: ${reason}`;
};
