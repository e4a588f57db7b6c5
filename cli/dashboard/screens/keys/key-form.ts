import type {CreatedApiKey} from '../../../../shared/api-key.ts';
import {scopes} from '../../../../shared/scopes.ts';
import {isoMoment, momentAt, parseDuration} from '../../../command-line/moment.ts';
import {countText, timeText} from '../../../output/cell-text.ts';
import {askByForm} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import {secretPage} from '../../shell/secret-page.ts';
import type {Shell} from '../../shell/shell.ts';

const fields: readonly FormField[] = [
  {name: 'name', label: 'Name', value: '', hint: 'what it is for'},
  {name: 'scope', label: 'Scope', value: 'read-only', choices: scopes, hint: 'what it may do; left and right choose'},
  {name: 'domain', label: 'Domain', value: '', hint: 'for domain-admin alone: the domain it is bound to'},
  {name: 'rate_limit_per_minute', label: 'Per minute', value: '600', hint: 'requests, 1 to 1000000'},
  {name: 'expires_at', label: 'Ends', value: '', hint: '90d, 12h, 2027-01-31, a time with its zone; empty: never'},
];

export const askForKey = (shell: Shell, onCreated: () => void): void => {
  const {client, now} = shell.app;
  askByForm(shell, {
    title: 'New API key',
    fields,
    check: typed => checkKeyForm(typed, now()),
    question: typed => ['Make this API key?', `  ${aboutKey(newKeyOf(typed, now()))}`],
    yes: 'make it',
    send: async typed => {
      const {domain, expires_at, ...key} = newKeyOf(typed, now());
      return (await client.keys.create({...key, domain: domain ?? undefined, expires_at: expires_at ?? undefined})).data;
    },
    onDone: made => {
      // Queued: an enter typed into another modal meanwhile would close this page for good.
      shell.openLater(newKeyPage(shell, made));
      onCreated();
    },
  });
};

export const checkKeyForm = (values: FormValues, nowMs: number): Record<string, string> => {
  const {name = '', scope, domain = '', rate_limit_per_minute = '', expires_at = ''} = values;
  const limit = Number(rate_limit_per_minute);
  const isLimit = /^\d{1,7}$/.test(rate_limit_per_minute.trim()) && limit >= 1 && limit <= 1_000_000;
  const end = momentOf(expires_at, nowMs);
  return {
    ...((name.trim() === '' || [...name.trim()].length > 100) && {name: 'a name has 1 to 100 characters'}),
    ...(scope === 'domain-admin' && domain.trim() === '' && {domain: 'a domain-admin key is bound to a domain: name it'}),
    ...(scope !== 'domain-admin' &&
      domain.trim() !== '' && {domain: 'only a domain-admin key has a domain: empty this, or choose that scope'}),
    ...(!isLimit && {rate_limit_per_minute: 'a whole number from 1 to 1000000'}),
    ...(expires_at.trim() !== '' && end === undefined && {expires_at: 'a duration such as 90d, or a time such as 2027-01-31'}),
    ...(end !== undefined && Date.parse(end) <= nowMs && {expires_at: 'that is in the past'}),
  };
};

/** Parses a duration from now, a date or a time into ISO 8601; undefined for anything else. */
const momentOf = (text: string, nowMs: number): string | undefined => {
  const durationMs = parseDuration(text.trim());
  return durationMs === undefined ? isoMoment(text.trim()) : momentAt(nowMs + durationMs);
};

type NewKey = Pick<CreatedApiKey, 'name' | 'scope' | 'domain' | 'rate_limit_per_minute' | 'expires_at'>;

const newKeyOf = (values: FormValues, nowMs: number): NewKey => {
  const {name = '', scope, domain = '', rate_limit_per_minute, expires_at = ''} = values;
  return {
    name: name.trim(),
    scope: scopes.find(one => one === scope) ?? 'read-only',
    domain: domain.trim() || null,
    rate_limit_per_minute: Number(rate_limit_per_minute),
    expires_at: momentOf(expires_at, nowMs) ?? null,
  };
};

const newKeyPage = (shell: Shell, {key, ...record}: CreatedApiKey) =>
  secretPage(shell, {
    title: `New key ${record.id}`,
    before: [aboutKey(record)],
    secret: key,
    after: ['Clients send it in the header X-API-Key of each request.'],
  });

export const aboutKey = ({name, scope, domain, rate_limit_per_minute, expires_at}: NewKey): string =>
  [
    name,
    `${scope}${domain === null ? '' : ` for ${domain}`}`,
    `${countText(rate_limit_per_minute)} requests a minute`,
    expires_at === null ? 'no end' : `ends ${timeText(expires_at)}`,
  ].join(' · ');
