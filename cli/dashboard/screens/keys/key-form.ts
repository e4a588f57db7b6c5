import type {CreatedApiKey} from '../../../../shared/api-key.ts';
import type {FieldFault} from '../../../../shared/fault.ts';
import {loadRules, type Rules} from '../../../command-line/rules.ts';
import {CliError} from '../../../errors.ts';
import {type Grant, grantText, newKeyFields} from '../../../key/key-fields.ts';
import {countText, timeText} from '../../../output/cell-text.ts';
import {askByForm, byField, formFields, typedValues} from '../../shell/asking.ts';
import type {FormValues} from '../../shell/modal.ts';
import {secretPage} from '../../shell/secret-page.ts';
import {guarded, type Shell} from '../../shell/shell.ts';

export const askForKey = (shell: Shell, onCreated: () => void): Promise<void> =>
  guarded(shell, async () => {
    const {client, now} = shell.app;
    const rules = await loadRules();
    askByForm(shell, {
      title: 'New API key',
      fields: formFields(newKeyFields, {scope: 'read-only', rate_limit_per_minute: '600'}),
      check: typed => checkKeyForm(rules, typed, now()),
      question: typed => ['Make this API key?', `  ${aboutKey(newKeyOf(typed, now()))}`],
      yes: 'make it',
      send: async typed => (await client.keys.create(newKeyOf(typed, now())).catch(besideDomains)).data,
      onDone: made => {
        // Queued: an enter typed into another modal meanwhile would close this page for good.
        shell.openLater(newKeyPage(shell, made));
        onCreated();
      },
    });
  });

/** The form has one field for one domain and for several. */
const asFormFault = ({path, detail}: FieldFault): FieldFault => ({path: path === 'domain' ? 'domains' : path, detail});

const besideDomains = (error: unknown): never => {
  throw error instanceof CliError ? error.with({fields: error.fields.map(asFormFault)}) : error;
};

/** That the end lies in the future is no rule of the schema, which knows neither durations nor dates. */
export const checkKeyForm = ({newKey}: Pick<Rules, 'newKey'>, values: FormValues, nowMs: number): Record<string, string> => {
  const key = newKeyOf(values, nowMs);
  const faults = byField(newKey(key).faults.map(asFormFault));
  if (faults.expires_at !== undefined)
    return {...faults, expires_at: 'must be a duration such as 90d, or a time such as 2027-01-31 or 2027-01-31T00:00:00Z'};
  const isPast = key.expires_at !== null && Date.parse(key.expires_at) <= nowMs;
  return {...faults, ...(isPast && {expires_at: 'that is in the past'})};
};

const newKeyOf = (values: FormValues, nowMs: number): Omit<Grant, 'domain'> =>
  typedValues(newKeyFields, values, nowMs) as unknown as Omit<Grant, 'domain'>;

const newKeyPage = (shell: Shell, {key, ...record}: CreatedApiKey) =>
  secretPage(shell, {
    title: `New key ${record.id}`,
    before: [aboutKey(record)],
    secret: key,
    after: ['Clients send it in the header X-API-Key of each request.'],
  });

export const aboutKey = ({name, rate_limit_per_minute, expires_at, ...key}: Omit<Grant, 'domain'>): string =>
  [
    name,
    grantText(key, names => names.join(', ')),
    `${countText(rate_limit_per_minute)} requests a minute`,
    expires_at === null ? 'no end' : `ends ${timeText(expires_at)}`,
  ].join(' · ');
