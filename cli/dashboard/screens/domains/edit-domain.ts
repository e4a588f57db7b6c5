// Editor of a domain: read → form → differences → saved, or a concurrent change → form again. The ETag of the version that the
// form was opened with protects concurrent changes.
import type {Domain} from '../../../../shared/domain.ts';
import type {Client} from '../../../client/client.ts';
import {loadRules, type Rules} from '../../../command-line/rules.ts';
import {differences, type Settings, settingNames, settingsOf} from '../../../domain/domain-fields.ts';
import {fewerDays} from '../../../domain/fewer-days.ts';
import {unsentReports} from '../../../domain/unsent-reports.ts';
import {asCliError} from '../../../errors.ts';
import {errorsOf, isFinal, openForm, withFields} from '../../shell/asking.ts';
import type {Form, FormPlace} from '../../shell/modal.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {changesOf, diffLines, settingFaults, settingFields, typedSettings, valuesOf} from './domain-settings.ts';

interface EditNeeds {
  client: Pick<Client, 'domains' | 'cluster' | 'quarantine'>;
  shell: Pick<Shell, 'openLater' | 'say' | 'fail'>;
  onSaved(): void;
}

interface Editing extends EditNeeds {
  rules: Rules;
}

const withRules = async (needs: EditNeeds): Promise<Editing> => ({...needs, rules: await loadRules()});

interface Version {
  domain: Domain;
  etag: string | undefined;
}

type Changes = Partial<Settings>;

export const editDomain = async (needs: EditNeeds, id: number): Promise<void> =>
  guarded(needs.shell, async () => openEditor(await withRules(needs), await read(needs, id), {}));

export const setActive = async (needs: EditNeeds, id: number, active: boolean): Promise<void> =>
  guarded(needs.shell, async () => {
    const version = await read(needs, id);
    if (version.domain.active === active) needs.shell.say(`${version.domain.name} is ${active ? '' : 'in'}active already`);
    else await propose(await withRules(needs), version, {changes: {active}});
  });

/** Shows the version with the user's changes on top. */
const openEditor = (needs: Editing, version: Version, changes: Changes, start: Pick<Form, 'errors' | 'place'> = {}): void => {
  const {domain} = version;
  const before = valuesOf(settingsOf(domain));
  const form: Form = {
    kind: 'form',
    title: `Settings of ${domain.name}`,
    fields: settingFields({...before, ...valuesOf(changes)}),
    check: values =>
      settingFaults(needs.rules.newDomain({name: domain.name, ...typedSettings(values)}).faults, {before, typed: values}),
    ...start,
    onSubmit: (values, place) =>
      void guarded(needs.shell, () => propose(needs, version, {changes: changesOf(domain, values), place})),
  };
  openForm(needs.shell, form, before);
};

interface Proposal {
  changes: Changes;
  place?: FormPlace | undefined;
}

const propose = async (needs: Editing, version: Version, proposal: Proposal): Promise<void> => {
  const {changes, place} = proposal;
  const {domain} = version;
  if (Object.keys(changes).length === 0) {
    needs.shell.say(`${domain.name} is unchanged: nothing was changed in the form`);
    return;
  }
  const warnings = await warningsOf(needs, domain, changes);
  needs.shell.openLater({
    kind: 'question',
    lines: [`Change ${domain.name}?`, ...diffLines(domain, changes).map(line => `  ${line}`), ...warnings],
    yes: 'save',
    onYes: () => void guarded(needs.shell, () => save(needs, version, proposal)),
    no: 'back to the form',
    onNo: () => openEditor(needs, version, changes, {place}),
  });
};

const warningsOf = async ({client}: EditNeeds, {id, name}: Domain, changes: Changes): Promise<string[]> => {
  const warnings: string[] = [];
  if (changes.active === false) warnings.push(`Mail for ${name} is answered 450 then: senders keep it and try again.`);
  if (changes.dkim_active) {
    const {data} = await client.domains.dkimKeys(id);
    if (data.length === 0) warnings.push(`There is no DKIM key of ${name}: its mail leaves unsigned until there is one.`);
  }
  if (changes.retention !== undefined) {
    const {data: now} = await client.domains.retention(id);
    const fewer = await fewerDays(client, now, changes.retention);
    if (fewer) warnings.push(`Mail of ${name} is held for fewer days then (${fewer.change}). ${fewer.loss}`);
  }
  return warnings;
};

const save = async (needs: Editing, version: Version, {changes, place}: Proposal): Promise<void> => {
  const {client, shell} = needs;
  const {domain, etag} = version;
  try {
    await client.domains.update(domain.id, changes, etag);
  } catch (error) {
    const failure = asCliError(error);
    if (failure.code === 'precondition_failed') return resolveConflict(needs, version, changes);
    shell.fail(withFields(failure));
    if (!isFinal(failure)) openEditor(needs, version, changes, {place, errors: errorsOf(failure)});
    return;
  }
  const saved = `Saved ${domain.name}: ${diffLines(domain, changes).join('; ').replace(/ {2,}/g, ' ')}`;
  const problem = await unsentReports(client, [changes]);
  if (problem === undefined) shell.say(saved, 'good');
  else shell.say(`${saved}; ${problem}`, 'warn');
  needs.onSaved();
};

/** Shows the concurrent changes, and the user's changes that remain. */
const resolveConflict = async (needs: Editing, version: Version, changes: Changes): Promise<void> => {
  const {shell} = needs;
  const before = version.domain;
  const present = await read(needs, before.id);
  const theirs = differences(before, present.domain);
  const left = differences(present.domain, {...present.domain, ...changes});
  needs.onSaved();
  if (Object.keys(left).length === 0) {
    shell.say(`Somebody else has changed ${before.name} to just this; there was nothing left to save`, 'warn');
    return;
  }
  const isBoth = settingNames.some(name => Object.hasOwn(theirs, name) && Object.hasOwn(left, name));
  shell.openLater({
    kind: 'question',
    lines: [
      `Not saved: somebody else has changed ${before.name} since the form was opened. Nothing was overwritten.`,
      'They changed:',
      ...(Object.keys(theirs).length === 0 ? ['  nothing that is still different'] : indented(diffLines(before, theirs))),
      'Yours would change:',
      ...indented(diffLines(present.domain, left)),
      ...(isBoth ? ['Some of it is the same setting: check carefully.'] : []),
      'Open the form again, with what is there now and yours on top?',
    ],
    yes: 'open the form',
    onYes: () => openEditor(needs, present, left),
    no: 'discard mine',
  });
};

const indented = (lines: readonly string[]): string[] => lines.map(line => `  ${line}`);

const read = async ({client}: EditNeeds, id: number): Promise<Version> => {
  const {data, etag} = await client.domains.get(id);
  return {domain: data, etag};
};
