// Confirmation of changes: forms, questions and words to type, and the way back when the node refuses.
import type {FieldFault} from '../../../shared/fault.ts';
import type {TypedField} from '../../command-line/field-options.ts';
import {asCliError, CliError} from '../../errors.ts';
import type {DeferredAction} from './deferred-actions.ts';
import type {Form, FormField, FormValues, Prompt} from './modal.ts';
import type {Shell} from './shell.ts';

export type AskingShell = Pick<Shell, 'openLater' | 'say' | 'fail' | 'defer'>;

interface FormFlow<T> extends Pick<Form, 'title' | 'check'> {
  /** Fields with their initial values. They have the names of the API, so that its errors are shown beside them. */
  fields: readonly FormField[];
  question(values: FormValues): readonly string[];
  yes: string;
  send(values: FormValues): Promise<T>;
  onDone(made: T): void;
}

/** What a form begins with when it is opened again. */
interface FormStart extends Pick<Form, 'errors' | 'place'> {
  values?: FormValues;
}

/** form ⇄ question → sent, or back to the form with the typed values. */
export const askByForm = <T>(shell: AskingShell, flow: FormFlow<T>, {values = {}, ...start}: FormStart = {}): void => {
  const {title, fields, check} = flow;
  const form: Form = {
    kind: 'form',
    title,
    fields: filledFields(fields, values),
    ...(check && {check}),
    ...start,
    onSubmit: (typed, place) =>
      shell.openLater({
        kind: 'question',
        lines: flow.question(typed),
        yes: flow.yes,
        onYes: () => void send(shell, flow, {values: typed, place}),
        no: 'back to the form',
        onNo: () => askByForm(shell, flow, {values: typed, place}),
      }),
  };
  openForm(shell, form, Object.fromEntries(fields.map(({name, value}) => [name, value])));
};

/** A form that asks before it forgets what was typed; `before` are its values without that. */
export const openForm = (shell: Pick<AskingShell, 'openLater'>, form: Form, before: FormValues): void =>
  shell.openLater({
    ...form,
    onGiveUp: (values, place) => {
      const typed = form.fields.filter(({name}) => values[name] !== before[name]);
      if (typed.length === 0) return;
      const {errors: _old, ...again} = form;
      shell.openLater({
        kind: 'question',
        lines: [
          `${form.title}: forget what was typed?`,
          ...typed.map(({name, label}) => `  ${label}: ${values[name] || 'nothing'}`),
        ],
        yes: 'forget it',
        onYes: () => undefined,
        no: 'back to the form',
        onNo: () => openForm(shell, {...again, fields: filledFields(form.fields, values), place}, before),
      });
    },
  });

type TypedFields = Readonly<Record<string, TypedField<never>>>;

/** Without a value a field is empty. */
export const formFields = (fields: TypedFields, values: FormValues): FormField[] =>
  Object.entries(fields).map(([name, {label, prompt = label, hint, choices, separator}]) => ({
    ...{name, label: prompt, value: values[name] ?? '', hint},
    ...(choices && {choices}),
    ...(separator && {separator}),
  }));

/** What the texts of a form stand for, right or wrong. */
export const typedValues = (fields: TypedFields, values: FormValues, nowMs = Date.now()): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, {parse}]) => [name, parse(values[name] ?? '', nowMs)]));

const filledFields = (fields: readonly FormField[], values: FormValues): FormField[] =>
  fields.map(field => ({...field, value: values[field.name] ?? field.value}));

const send = async <T>(shell: AskingShell, flow: FormFlow<T>, start: FormStart & {values: FormValues}): Promise<void> => {
  let made: T;
  try {
    made = await flow.send(start.values);
  } catch (error) {
    const failure = asCliError(error);
    shell.fail(withFields(failure));
    if (!isFinal(failure)) askByForm(shell, flow, {...start, errors: errorsOf(failure)});
    return;
  }
  flow.onDone(made);
};

/** The error with the names of the fields that the node refused. */
export const withFields = (failure: CliError): CliError => {
  if (failure.fields.length === 0) return failure;
  const named = failure.fields.map(({path, detail}) => `${path} ${detail}`).join('; ');
  return new CliError(failure.code, named, {hint: failure.hint, exitCode: failure.exitCode});
};

export const errorsOf = ({fields}: CliError): Record<string, string> => byField(fields);

/** The first fault of each field; `backend_servers.0` belongs to `backend_servers`. */
export const byField = (faults: readonly FieldFault[]): Record<string, string> =>
  Object.fromEntries(faults.toReversed().map(({path, detail}) => [path.replace(/\W.*/s, ''), detail]));

/** Whether other values could not help. */
export const isFinal = ({code}: CliError): boolean =>
  code === 'not_found' || code === 'insufficient_scope' || code.startsWith('key_');

export interface ConfirmedAction extends DeferredAction {
  lines: readonly string[];
  yes: string;
}

/** Runs the action after a yes, unless it is undone in time. */
export const askToDefer = (shell: AskingShell, {lines, yes, ...action}: ConfirmedAction): void =>
  shell.openLater({kind: 'question', lines, yes, onYes: () => shell.defer(action)});

interface ForceableAction {
  what: string;
  run(isForced: boolean): Promise<string>;
  /** Must be typed to force an action that the node refused with a conflict. */
  word: string;
  label: string;
  hint(detail: string): string;
  /** The message after a refusal. */
  undone: string;
}

/** The prompt opens some seconds after the first question, so it asks for a word: a single key press may be meant for something else. */
export const deferForceable = (shell: AskingShell, action: ForceableAction, isForced = false): void =>
  shell.defer({
    what: isForced ? `${action.what} by force` : action.what,
    run: async () => {
      try {
        return await action.run(isForced);
      } catch (error) {
        const {code, detail} = asCliError(error);
        if (code !== 'conflict' || isForced) throw error;
        shell.openLater({
          ...wordPrompt(action.label, action.word, () => deferForceable(shell, action, true)),
          hint: () => action.hint(detail),
        });
        return action.undone;
      }
    },
  });

export const wordPrompt = (label: string, word: string, onSubmit: () => void): Prompt => ({
  kind: 'prompt',
  label,
  text: '',
  check: text => (text.trim() === word ? undefined : `type ${word} exactly, or escape to do nothing`),
  onSubmit,
});
