// A shell that only records, for steps that lead from one modal to the next.

import {readFile} from 'node:fs/promises';
import {type Client, createClient} from '../../../cli/client/client.ts';
import type {DeferredAction} from '../../../cli/dashboard/shell/deferred-actions.ts';
import type {Form, FormValues, Modal, Question} from '../../../cli/dashboard/shell/modal.ts';
import type {Shell} from '../../../cli/dashboard/shell/shell.ts';
import {asCliError, type CliError} from '../../../cli/errors.ts';
import {eventually} from '../eventually.ts';

export interface FakeShell extends Pick<Shell, 'open' | 'openLater' | 'say' | 'fail' | 'defer'> {
  said: string[];
  failures: CliError[];
  deferred: DeferredAction[];
  /** The modal that is opened next. */
  form(): Promise<Form>;
  question(): Promise<Question>;
  /** Submits the form with its values, except for these; throws the form's complaint. */
  fill(form: Form, values: FormValues): void;
  isAnythingOpen(): boolean;
}

export const createFakeShell = (): FakeShell => {
  const modals: Modal[] = [];
  const said: string[] = [];
  const failures: CliError[] = [];
  const deferred: DeferredAction[] = [];
  const next = async <K extends Modal['kind']>(kind: K): Promise<Extract<Modal, {kind: K}>> => {
    const modal = await eventually(() => modals.shift(), 10_000).catch(() => {
      throw new Error(`no ${kind}; said ${said.join('; ')}; failed ${failures.map(({detail}) => detail).join('; ')}`);
    });
    if (modal.kind !== kind) throw new Error(`a ${modal.kind} and no ${kind}: ${JSON.stringify(modal)}`);
    return modal as Extract<Modal, {kind: K}>;
  };
  return {
    said,
    failures,
    deferred,
    open: modal => void modals.push(modal),
    openLater: modal => void modals.push(modal),
    say: text => void said.push(text),
    fail: error => void failures.push(asCliError(error)),
    defer: action => void deferred.push(action),
    form: async () => next('form'),
    question: async () => next('question'),
    fill: (form, values) => {
      const all = {...Object.fromEntries(form.fields.map(({name, value}) => [name, value])), ...values};
      const faults = form.check?.(all) ?? {};
      if (Object.keys(faults).length > 0) throw new Error(JSON.stringify(faults));
      form.onSubmit(all);
    },
    isAnythingOpen: () => modals.length > 0,
  };
};

/** A client for an API given by the test. */
export const clientOf = async ({url, env}: {url: string; env: {MFCTL_CACERT: string; MFCTL_API_KEY: string}}): Promise<Client> =>
  createClient({
    connection: {baseUrl: new URL('/api/v1/', url), apiKey: env.MFCTL_API_KEY, ca: await readFile(env.MFCTL_CACERT, 'utf8')},
    version: 'test',
    log: () => undefined,
  });
