// Objects that the cells of the matrix use: domains with everything that belongs to them, keys of every kind, and held mail.

import {maxDomains} from '../../shared/api-key.ts';
import {generateApiKey} from '../../shared/api-key-value.ts';
import type {Domain} from '../../shared/domain.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import {type Scope, scopes} from '../../shared/scopes.ts';
import type {MailNode} from '../helpers/mail-node.ts';
import {connect} from '../helpers/smtp-client.ts';
import {type BadKey, type Caller, callers, type Target} from './matrix-rules.ts';

export interface DomainThings {
  domain: Domain;
  filterId: number;
  /** A filter for all domains. */
  globalFilterId: number;
  selector: string;
  mail: MailReference;
  /** A key that no caller uses. */
  keyId: number;
  webhookId: number;
}

export interface World {
  things: Record<Target, DomainThings>;
  keyOf(caller: Caller): string | null;
  /** The id of a new webhook; there may be a few dozen. */
  newWebhook(): Promise<number>;
  /** The same as `things[target]`, for a request that removes an object, and the key of a permitted caller. */
  fresh(target: Target, caller: Caller): Promise<{things: DomainThings; key: string | null}>;
}

/** The time until the keys with an expiry have expired. */
const expiryMs = 2000;

const goodCallers = callers.filter(caller => caller.kind === 'good');
const orphans = callers.filter(caller => caller.kind === 'orphan');

export const createWorld = async (node: MailNode): Promise<World> => {
  const post = createMailer(node);
  const must = async (method: string, path: string, body?: unknown) => {
    const {status, json} = await node.api(method, path, {body});
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json.data;
  };
  const newWebhook = async (): Promise<number> => (await must('POST', 'webhooks', {url: 'https://hooks.invalid/'})).id;
  const webhookId = await newWebhook();
  const furnish = async (fields: Partial<Domain> = {}): Promise<DomainThings> => {
    const domain = await node.createDomain(fields);
    const [filter, forAll, mail, key] = await Promise.all([
      must('POST', `domains/${domain.id}/filters`, {action: 'block', match: 'sender', pattern: 'x@bad.test'}),
      must('POST', 'filters', {action: 'block', match: 'sender', pattern: 'x@bad.test'}),
      post(domain.name),
      node.createKey('read-only'),
      must('POST', `domains/${domain.id}/dkim-keys`, {selector: 'standing', algorithm: 'ed25519'}),
    ]);
    return {domain, filterId: filter.id, globalFilterId: forAll.id, selector: 'standing', mail, keyId: key.id, webhookId};
  };
  const take = async (target: Target): Promise<DomainThings> => {
    if (target === 'unknown') return unknown(node.node_id);
    const things = await furnish();
    if (target === 'deleted') await must('DELETE', `domains/${things.domain.id}`);
    return things;
  };

  const expireAt = Date.now() + expiryMs;
  const [own, other, deleted] = [await take('own'), await take('other'), await take('deleted')];
  const things = {own, other, deleted, unknown: unknown(node.node_id)};
  const boundTo = (scope: Scope, domain: Domain) => (scope === 'domain-admin' ? {domain: domain.name} : {});

  /** The other domains of keys for several. Another domain has the name of the first one by now. */
  const companions: Domain[] = [];
  for (let n = 0; n < maxDomains - 1; n += 1) companions.push(await node.createDomain());
  const boundWith = (domain: Domain, {scope, domains = 1}: {scope: Scope; domains?: number}) => {
    if (scope !== 'domain-admin' || domains === 1) return boundTo(scope, domain);
    return {domain: undefined, domains: [...companions.slice(0, domains - 1), domain].map(({name}) => name)};
  };

  const keys = new Map<string, string | null>();
  const keep = (caller: Caller, key: string | null) => void keys.set(JSON.stringify(caller), key);
  for (const scope of scopes) {
    const create = async (more: object = {}) =>
      node.createKey(scope, {...boundTo(scope, own.domain), rate_limit_per_minute: 1_000_000, ...more});
    const bad = (why: BadKey, key: string | null) => keep({kind: 'bad', why, scope}, key);
    for (const caller of goodCallers.filter(caller => caller.scope === scope))
      keep(caller, (await create(boundWith(own.domain, caller))).key);
    const [revoked, removed] = [await create(), await create()];
    await must('POST', `auth/api-keys/${revoked.id}/revoke`);
    await must('DELETE', `auth/api-keys/${removed.id}`);
    bad('none', null);
    bad('malformed', `${removed.key.slice(0, -1)}${removed.key.endsWith('a') ? 'b' : 'a'}`);
    bad('unissued', generateApiKey());
    bad('deleted', removed.key);
    bad('revoked', revoked.key);
    bad('expired', (await create({expires_at: new Date(Math.max(expireAt, Date.now() + 500)).toISOString()})).key);
  }
  const replaced = async (domain: Domain) => {
    await must('DELETE', `domains/${domain.id}`);
    const again = await node.createDomain({name: domain.name});
    await post(domain.name);
    return again;
  };
  const [firstCompanion] = companions;
  if (firstCompanion) companions[0] = await replaced(firstCompanion);
  for (const caller of orphans) {
    const bound = await Promise.all(Array.from({length: caller.domains ?? 1}, async () => node.createDomain()));
    const domains = bound.map(({name}) => name);
    keep(caller, (await node.createKey('domain-admin', {domains, rate_limit_per_minute: 1_000_000})).key);
    for (const domain of bound)
      if (caller.hasSuccessor) await replaced(domain);
      else await must('DELETE', `domains/${domain.id}`);
  }
  await new Promise(resolve => setTimeout(resolve, Math.max(expireAt, Date.now() + 500) - Date.now() + 50));

  const keyOf = (caller: Caller) => keys.get(JSON.stringify(caller)) ?? null;
  return {
    things,
    keyOf,
    newWebhook,
    async fresh(target, caller) {
      const taken = await take(target);
      const isBound = caller.kind === 'good' && caller.scope === 'domain-admin' && target === 'own';
      const key = isBound ? (await node.createKey('domain-admin', boundWith(taken.domain, caller))).key : keyOf(caller);
      return {things: taken, key};
    },
  };
};

const unknown = (node_id: string): DomainThings => ({
  domain: {id: 4_000_000_042, name: 'never.test'} as Domain,
  filterId: 4_000_000_042,
  globalFilterId: 4_000_000_042,
  selector: 'never',
  mail: {node_id, queue_id: 'neverKnown1'},
  keyId: 4_000_000_042,
  webhookId: 4_000_000_042,
});

/** Sends mails that are held, all over one connection, one after the other. */
const createMailer = (node: MailNode) => {
  const client = connect(node.smtpPort).then(async opened => {
    await opened.cmd('EHLO client.test');
    return opened;
  });
  let turn: Promise<unknown> = client;
  const send = async (name: string): Promise<MailReference> => {
    const {cmd, data} = await client;
    await cmd('MAIL FROM:<sender@outside.test>');
    await cmd(`RCPT TO:<a@${name}>`);
    const {code, text} = await data(`Subject: of ${name}\r\nX-Spam-Score: 8\r\n\r\nbody\r\n`);
    const queue_id = / queued as (\w+)$/.exec(text)?.[1];
    if (queue_id === undefined) throw new Error(`not held: ${code} ${text}`);
    return {node_id: node.node_id, queue_id};
  };
  return async (name: string): Promise<MailReference> => {
    const mine = turn.then(async () => send(name));
    turn = mine.catch(() => undefined);
    return mine;
  };
};
