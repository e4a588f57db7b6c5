// Digests of a domain: whether, when and how its recipients are told of the mail that is held for them.
import {type DigestSettings, type DomainDigest, digestPatchSchema, digestSettingsSchema} from '../../../shared/digest.ts';
import {type DigestAction, digestActions, digestDefaults, digestLanguages} from '../../../shared/digest-rules.ts';
import type {Domain} from '../../../shared/domain.ts';
import {ownValue} from '../../../shared/has-own.ts';
import {type Json, mergePatch} from '../../../shared/merge-patch.ts';
import {type Reason, reasons} from '../../../shared/reason.ts';
import type {Actor} from '../actor.ts';
import type {RequireKnownKind} from '../cluster/known-kinds.ts';
import type {Domains} from '../domains/domains.ts';
import type {ConfigStore, Store} from '../ports.ts';
import type {StoredDigest} from '../records.ts';
import {invalidFields, validate} from '../validate.ts';
import {readableTime} from './due-time.ts';

/** Each method throws a Fault `not_found` for a domain outside the actor's access scope. */
export interface DomainDigests {
  get(actor: Actor, domainId: number): Promise<DomainDigest>;
  /** Applies a JSON merge patch. */
  set(actor: Actor, domainId: number, body: unknown): Promise<DomainDigest>;
}

interface Needs {
  store: Pick<Store, 'config'>;
  configuration: ConfigStore;
  domains: Pick<Domains, 'get'>;
  requireKnown: RequireKnownKind;
  /** The base of links; undefined while the pages for recipients have no address. */
  pagesUrl(): string | undefined;
}

export const createDomainDigests = (needs: Needs): DomainDigests => ({
  async get(actor, domainId) {
    const {name} = needs.domains.get(actor, domainId);
    return {domain: name, ...(await readSettings(needs.store.config, domainId))};
  },

  async set(actor, domainId, body) {
    const domain = needs.domains.get(actor, domainId);
    const patch = validate(digestPatchSchema, body);
    return needs.configuration.change(async tx => {
      const [stored] = await tx.config.listDigests([domainId]);
      if (!stored) needs.requireKnown('digest');
      const current = settingsOf(stored);
      const next = validate(digestSettingsSchema, mergePatch(current as unknown as Json, patch as Json));
      if (next.enabled && !current.enabled) requirePages(domain, needs.pagesUrl());

      const {enabled: _, ...kept} = next;
      const enabling = next.enabled === current.enabled ? {} : {enabled_at: next.enabled ? tx.at : null};
      if (stored) await tx.update('digest', domainId, {...changedIn(current, kept), ...enabling});
      else await tx.create('digest', domainId, {enabled_at: null, ...kept, ...enabling, domain_id: domainId, created_at: tx.at});
      await tx.audit(actor, 'domain.digest', domain.name, changeText(current, next));
      return {domain: domain.name, ...next};
    });
  },
});

/** Throws a Fault that says why the domain cannot have digests. */
const requirePages = ({direction}: Domain, url: string | undefined): void => {
  if (direction === 'outbound')
    throw invalidFields([{path: 'enabled', detail: 'is for domains that receive mail; this one is outbound'}]);
  const detail = 'needs recipients.url in mfd.yaml, the address that links lead to; set it on each node first';
  if (url === undefined) throw invalidFields([{path: 'enabled', detail}]);
};

/** What counts here: where this version cannot read what a later one has set, what does less, or the default. */
export const settingsOf = (stored: StoredDigest | undefined): DigestSettings => {
  const {at, timezone, language, actions, except} = stored ?? digestDefaults;
  const actionOf = (reason: Reason) => digestActions.find(one => one === ownValue<string>(actions, reason)) ?? 'none';
  return {
    enabled: typeof stored?.enabled_at === 'string',
    ...readableTime({at, timezone}),
    language: digestLanguages.find(one => one === language) ?? digestDefaults.language,
    actions: Object.fromEntries(reasons.map(reason => [reason, actionOf(reason)])) as Record<Reason, DigestAction>,
    except: [...except],
  };
};

export const readSettings = async (config: Pick<Store['config'], 'listDigests'>, domainId: number): Promise<DigestSettings> =>
  settingsOf((await config.listDigests([domainId]))[0]);

/** What a recipient may do: ask an administrator, where he may not release the mail himself. */
export const actionFor = (
  {actions}: DigestSettings,
  {reason, is_for_recipients}: {reason: Reason; is_for_recipients: boolean},
): DigestAction => {
  const action = actions[reason];
  return action === 'release' && !is_for_recipients ? 'request' : action;
};

/** The address that digests of a domain come from. `given`: that of the configuration. */
export const digestFrom = ({name}: Pick<Domain, 'name'>, given: string | undefined): string => given ?? `quarantine@${name}`;

/** What does not change must not override a change on another node, and what a later version has set stays. */
const changedIn = (current: DigestSettings, next: Omit<DigestSettings, 'enabled'>): Partial<typeof next> =>
  Object.fromEntries(
    Object.entries(next).filter(([name, value]) => JSON.stringify(current[name as keyof typeof next]) !== JSON.stringify(value)),
  );

const isOther = (current: DigestSettings, next: DigestSettings, name: keyof DigestSettings): boolean =>
  JSON.stringify(current[name]) !== JSON.stringify(next[name]);

const changeText = (current: DigestSettings, next: DigestSettings): string => {
  const names = Object.keys(next) as (keyof DigestSettings)[];
  return names
    .filter(name => isOther(current, next, name))
    .map(name => (name === 'except' ? `except=${next.except.length}` : `${name}=${textOf(next[name])}`))
    .join(' ');
};

const textOf = (value: unknown): string =>
  typeof value === 'object'
    ? Object.entries(value ?? {})
        .map(([reason, action]) => `${reason}:${action}`)
        .join(',')
    : String(value);
