import type {CreatedApiKey} from '../../../../shared/api-key.ts';
import {scopes} from '../../../../shared/scopes.ts';
import {isoMoment, momentAt, parseDuration} from '../../../command-line/time-text.ts';
import {asCliError} from '../../../errors.ts';
import {countText, timeText} from '../../../output/cell-text.ts';
import type {Form, FormValues} from '../../shell/modal.ts';
import {secretPage} from '../../shell/secret-page.ts';
import type {Shell} from '../../shell/shell.ts';

/** Fields are named as the API names them, so that what it finds wrong is shown beside them. */
const emptyForm: FormValues = {name: '', scope: 'read-only', domain: '', rate_limit_per_minute: '600', expires_at: ''};

export const askForKey = (shell: Shell, onCreated: () => void): void => shell.open(keyForm(shell, emptyForm, onCreated));

const keyForm = (shell: Shell, values: FormValues, onCreated: () => void, errors?: Record<string, string>): Form => ({
  kind: 'form',
  title: 'New API key',
  fields: [
    {name: 'name', label: 'Name', value: values.name ?? '', hint: 'what it is for'},
    {name: 'scope', label: 'Scope', value: values.scope ?? '', choices: scopes, hint: 'what it may do; left and right choose'},
    {name: 'domain', label: 'Domain', value: values.domain ?? '', hint: 'for domain-admin alone: the domain it is bound to'},
    {
      name: 'rate_limit_per_minute',
      label: 'Per minute',
      value: values.rate_limit_per_minute ?? '',
      hint: 'requests, 1 to 1000000',
    },
    {
      name: 'expires_at',
      label: 'Ends',
      value: values.expires_at ?? '',
      hint: '90d, 12h, 2027-01-31, a time with its zone; empty: never',
    },
  ],
  ...(errors && {errors}),
  check: typed => checkKeyForm(typed, shell.app.now()),
  onSubmit: typed => askToMake(shell, typed, onCreated),
});

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

/** A duration from now, a date or a time, as ISO 8601; undefined when it is none. */
export const momentOf = (text: string, nowMs: number): string | undefined => {
  const durationMs = parseDuration(text.trim());
  return durationMs === undefined ? isoMoment(text.trim()) : momentAt(nowMs + durationMs);
};

type NewKey = Pick<CreatedApiKey, 'name' | 'scope' | 'domain' | 'rate_limit_per_minute' | 'expires_at'>;

const askToMake = (shell: Shell, values: FormValues, onCreated: () => void): void => {
  const key = newKeyOf(values, shell.app.now());
  shell.openLater({
    kind: 'question',
    lines: ['Make this API key?', `  ${aboutKey(key)}`],
    yes: 'make it',
    onYes: () => void create(shell, {values, onCreated}, key),
    no: 'back to the form',
    onNo: () => shell.openLater(keyForm(shell, values, onCreated)),
  });
};

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

const create = async (
  shell: Shell,
  {values, onCreated}: {values: FormValues; onCreated: () => void},
  {domain, expires_at, ...key}: NewKey,
): Promise<void> => {
  const json = {...key, domain: domain ?? undefined, expires_at: expires_at ?? undefined};
  try {
    const {data} = await shell.app.client.send<CreatedApiKey>({method: 'POST', path: 'auth/api-keys', json});
    // Later: enter, which is typed elsewhere meanwhile, would close it for good.
    shell.openLater(newKeyPage(shell, data));
    onCreated();
  } catch (error) {
    const {fields} = asCliError(error);
    const wrong = Object.fromEntries(fields.map(({path, detail}) => [path, detail]));
    shell.fail(error);
    if (fields.length > 0) shell.openLater(keyForm(shell, values, onCreated, wrong));
  }
};

const newKeyPage = (shell: Shell, {key, ...record}: CreatedApiKey) =>
  secretPage(shell, {
    title: `New key ${record.id}`,
    before: [aboutKey(record)],
    secret: key,
    after: ['Give it to whoever will use it, in the header X-API-Key of each request.'],
  });

export const aboutKey = ({name, scope, domain, rate_limit_per_minute, expires_at}: NewKey): string =>
  [
    name,
    `${scope}${domain === null ? '' : ` for ${domain}`}`,
    `${countText(rate_limit_per_minute)} requests a minute`,
    expires_at === null ? 'no end' : `ends ${timeText(expires_at)}`,
  ].join(' · ');
