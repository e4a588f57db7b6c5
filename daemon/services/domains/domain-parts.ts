// Mail filters and DKIM keys of a domain. They are deleted with the domain.

import {generateKeyPair as generate, type KeyObject} from 'node:crypto';
import {promisify} from 'node:util';
import {createDkimKeySchema, type DkimKey} from '../../../shared/dkim-key.ts';
import type {Domain} from '../../../shared/domain.ts';
import {Fault} from '../../../shared/fault.ts';
import type {DkimAlgorithm} from '../../../shared/field-rules.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import type {Actor} from '../actor.ts';
import type {ConfigStore, ConfigTransaction, Store} from '../ports.ts';
import type {StoredDkimKey} from '../records.ts';
import {validate} from '../validate.ts';
import type {Domains} from './domains.ts';
import type {FilterOwner, MailFilters} from './mail-filters.ts';

/** Each method throws a Fault `not_found` for a domain outside the actor's access scope. */
export interface DomainParts {
  filters(actor: Actor, domainId: number): Promise<MailFilter[]>;
  addFilter(actor: Actor, domainId: number, body: unknown): Promise<MailFilter>;
  removeFilter(actor: Actor, domainId: number, filterId: number): Promise<void>;
  dkimKeys(actor: Actor, domainId: number): Promise<DkimKey[]>;
  addDkimKey(actor: Actor, domainId: number, body: unknown): Promise<DkimKey>;
  removeDkimKey(actor: Actor, domainId: number, selector: string): Promise<void>;
}

const maxDkimKeys = 16;

interface Needs {
  store: Store;
  configuration: ConfigStore;
  domains: Domains;
  filters: MailFilters;
}

export const createDomainParts = ({store, configuration, domains, filters}: Needs): DomainParts => ({
  async filters(actor, domainId) {
    domains.get(actor, domainId);
    return filters.list(domainId);
  },

  async addFilter(actor, domainId, body) {
    return filters.add(actor, ownerOf(domains.get(actor, domainId)), body);
  },

  async removeFilter(actor, domainId, filterId) {
    await filters.remove(actor, ownerOf(domains.get(actor, domainId)), filterId);
  },

  async dkimKeys(actor, domainId) {
    const {name} = domains.get(actor, domainId);
    return (await store.config.listDkimKeys([domainId])).map(key => toDkimKey(key, name));
  },

  async addDkimKey(actor, domainId, body) {
    const {name} = domains.get(actor, domainId);
    const {selector, algorithm} = validate(createDkimKeySchema, body);
    const pair = await generateDkimKey(algorithm);
    return configuration.change(async tx => {
      await requireDomain(tx, domainId);
      const existing = await tx.config.listDkimKeys([domainId]);
      if (existing.some(key => key.selector === selector))
        throw new Fault('conflict', `the domain ${name} has a DKIM key with selector ${selector}; choose another selector`);
      if (existing.length >= maxDkimKeys)
        throw new Fault('conflict', `the domain has ${maxDkimKeys} DKIM keys, which is the most it may have; delete one first`);
      const id = await tx.nextId('dkim_key');
      const fields = {domain_id: domainId, selector, algorithm, ...pair, created_at: tx.at};
      await tx.create('dkim_key', id, fields);
      await tx.audit(actor, 'dkim.create', `${name}/${selector}`, algorithm);
      return toDkimKey({id, ...fields}, name);
    });
  },

  async removeDkimKey(actor, domainId, selector) {
    const {name} = domains.get(actor, domainId);
    await configuration.change(async tx => {
      const key = (await tx.config.listDkimKeys([domainId])).find(candidate => candidate.selector === selector);
      if (!key) throw new Fault('not_found', `the domain ${name} has no DKIM key with selector ${selector}`);
      await tx.remove('dkim_key', key.id);
      await tx.audit(actor, 'dkim.delete', `${name}/${selector}`);
    });
  },
});

/** The domain may have been deleted between the check in memory and the transaction. */
const requireDomain = async (tx: ConfigTransaction, id: number): Promise<void> => {
  if (!(await tx.config.findDomain(id))) throw new Fault('not_found', `there is no domain ${id}; GET /domains lists them`);
};

const ownerOf = ({id, name}: Domain): FilterOwner => ({
  id,
  name,
  whose: `of the domain ${name}`,
  check: async tx => requireDomain(tx, id),
});

const toDkimKey = ({id, domain_id, selector, algorithm, public_key, created_at}: StoredDkimKey, domain: string): DkimKey => ({
  id,
  domain_id,
  selector,
  algorithm,
  dns_name: `${selector}._domainkey.${domain}`,
  dns_record: dkimRecord({algorithm, public_key}),
  created_at,
});

const generateKeyPair = promisify(generate);

export interface DkimKeyPair {
  /** PKCS #8. */
  private_key_pem: string;
  /** Base64, in the form of `p=` in the DNS record. */
  public_key: string;
}

/** Generates a key pair. RSA takes a few hundred milliseconds, off the main thread. */
export const generateDkimKey = async (algorithm: DkimAlgorithm): Promise<DkimKeyPair> => {
  switch (algorithm) {
    case 'rsa-2048': {
      const {privateKey, publicKey} = await generateKeyPair('rsa', {modulusLength: 2048});
      return {private_key_pem: pem(privateKey), public_key: spki(publicKey).toString('base64')};
    }
    case 'ed25519': {
      const {privateKey, publicKey} = await generateKeyPair('ed25519');
      // RFC 8463 section 4.2 publishes only the 32 bytes of the key, which are the end of the SubjectPublicKeyInfo.
      return {private_key_pem: pem(privateKey), public_key: spki(publicKey).subarray(-32).toString('base64')};
    }
    default:
      return algorithm satisfies never;
  }
};

const pem = (key: KeyObject): string => key.export({type: 'pkcs8', format: 'pem'}).toString();

const spki = (key: KeyObject): Buffer => key.export({type: 'spki', format: 'der'});

const keyTypes: Record<DkimAlgorithm, string> = {'rsa-2048': 'rsa', ed25519: 'ed25519'};

/** The TXT record of a public key as one string (RFC 6376 section 3.6.1). DNS requires strings of at most 255 characters. */
export const dkimRecord = (key: {algorithm: DkimAlgorithm; public_key: string}): string =>
  `v=DKIM1; k=${keyTypes[key.algorithm]}; p=${key.public_key}`;
