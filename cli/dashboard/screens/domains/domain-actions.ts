// Creation and deletion of domains. The question lists everything that is deleted with a domain.
import type {Me} from '../../../../shared/api-key.ts';
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {canonicalDomain} from '../../../../shared/domain-name.ts';
import {domainNamesOf} from '../../../../shared/scopes.ts';
import type {Client} from '../../../client/client.ts';
import {loadRules} from '../../../command-line/rules.ts';
import {unreachableBackends} from '../../../domain/domain-test.ts';
import {heldAfterDeletion} from '../../../domain/fewer-days.ts';
import {unsentReports} from '../../../domain/unsent-reports.ts';
import {asCliError, CliError} from '../../../errors.ts';
import {plural} from '../../../output/cell-text.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {type AskingShell, askByForm, askToDefer} from '../../shell/asking.ts';
import {guarded} from '../../shell/shell.ts';
import {changesOf, newSettings, settingFaults, settingFields, settingLines, typedSettings, valuesOf} from './domain-settings.ts';

export interface DomainServices {
  app: {client: Pick<Client, 'domains' | 'quarantine' | 'cluster'>} & Pick<AppContext, 'me' | 'may'>;
  shell: AskingShell;
  /** Called after a change. */
  onChange(): void;
  /** Called after the domain was deleted. */
  onDeleted?(): void;
}

interface NewDomainNeeds extends DomainServices {
  onCreated(domain: Domain): void;
}

export const openNewDomain = ({app, shell, onChange, onCreated}: NewDomainNeeds): Promise<void> =>
  guarded(shell, async () => {
    const {newDomain} = await loadRules();
    askByForm(shell, {
      title: 'New domain',
      fields: [{name: 'name', label: 'Name', value: '', hint: 'such as example.com'}, ...settingFields(valuesOf(newSettings))],
      check: typed =>
        settingFaults(newDomain({name: (typed.name ?? '').trim(), ...typedSettings(typed)}).faults, {
          before: valuesOf(newSettings),
          typed,
        }),
      question: typed => {
        const name = (typed.name ?? '').trim();
        const stored = canonicalDomain(name) ?? name;
        const settings = {...newSettings, ...changesOf(newSettings, typed)};
        return [
          `Create the domain ${stored}?`,
          // In the form of DNS one sees a letter of another script, or a character that was not meant.
          ...(stored === name.toLowerCase() ? [] : [`! ${name} is written ${stored} in DNS: that is the domain that is made.`]),
          ...settingLines(settings).map(line => `  ${line}`),
          ...(settings.active ? [] : [`Mail for ${stored} is answered 450: senders keep it and try again.`]),
        ];
      },
      yes: 'create',
      send: async typed => {
        const json = {name: (typed.name ?? '').trim(), ...changesOf(newSettings, typed)};
        const {data: domain} = await app.client.domains.create(json);
        const [unsent, unreachable] = await Promise.all([
          unsentReports(app.client, [domain]),
          unreachableBackends(app.client, domain),
        ]);
        return {domain, unsent, unreachable};
      },
      onDone: ({domain, unsent, unreachable}) => {
        const unsigned = domain.dkim_active ? ['it has no DKIM key yet, so its mail leaves unsigned'] : [];
        const problems = [...unreachable, ...unsigned, ...(unsent === undefined ? [] : [unsent])];
        shell.say([`Created ${domain.name}`, ...problems].join('; '), problems.length === 0 ? 'good' : 'warn');
        onChange();
        onCreated(domain);
      },
    });
  });

export const askToDelete = (needs: DomainServices, id: number): Promise<void> =>
  guarded(needs.shell, async () => {
    const {app, shell} = needs;
    const {client, me} = app;
    const [{data: domain, etag}, filters, keys] = await Promise.all([
      client.domains.get(id),
      client.domains.filters(id),
      client.domains.dkimKeys(id),
    ]);
    const {name} = domain;
    askToDefer(shell, {
      lines: [
        `Delete ${name}?`,
        `With it go ${filters.data.length === 0 ? 'no mail filters' : plural(filters.data.length, 'mail filter')} and ${keysText(keys.data)}.`,
        ...(domain.direction === 'outbound' ? [] : [`Mail for ${name} is refused from then on.`]),
        await heldAfterDeletion(app.client, domain),
        ...lossText(me, name),
      ],
      yes: `delete ${name}`,
      what: `delete ${name}`,
      run: async () => {
        const done = await remove(needs, domain, etag);
        needs.onDeleted?.();
        return done;
      },
      onSettled: needs.onChange,
    });
  });

const lossText = (me: Me, name: string): string[] => {
  const names = domainNamesOf(me);
  if (!names.includes(name)) return [];
  return [
    `The key ${me.name} is bound to ${name}: ${names.length === 1 ? 'it can do nothing' : 'it has no access to it'} afterwards.`,
  ];
};

const keysText = (keys: readonly DkimKey[]): string => {
  if (keys.length === 0) return 'no DKIM keys';
  return `${plural(keys.length, 'DKIM key')} (${keys.map(({selector}) => selector).join(', ')}), which cannot be restored`;
};

const remove = async ({app}: DomainServices, {id, name}: Domain, etag: string | undefined): Promise<string> => {
  try {
    await app.client.domains.remove(id, etag);
    return `Deleted ${name}`;
  } catch (error) {
    if (asCliError(error).code !== 'precondition_failed') throw error;
    throw new CliError('precondition_failed', `${name} is still there: somebody has changed it since you were asked`, {
      hint: 'look at it and delete it again',
    });
  }
};
