// Mails that something has been confirmed for. It goes on while other screens are shown.
import type {HoldAction, MailReference} from '../../../../shared/held-mail.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import type {ActionFailure} from './held-mail-actions.ts';

export interface FailedAction {
  /** What became of it in all, and why it ended where it did not get to its end. */
  text: string;
  /** Mails that were dealt with in vain; oldest first. */
  failures: readonly ActionFailure[];
}

export interface Acting {
  /** By id. */
  actions: ReadonlyMap<string, HoldAction>;
  /** The last action that failed, or a part of which did; what succeeds later does not hide it. */
  failed: FailedAction | undefined;
}

export interface ActingMails {
  /** The same object until something changes. */
  get(): Acting;
  subscribe(listener: () => void): () => void;
  begin(action: HoldAction, mails: readonly MailReference[]): void;
  end(mails: readonly MailReference[]): void;
  fail(failed: FailedAction): void;
}

const mostFailures = 10_000;

export const createActingMails = (): ActingMails => {
  const listeners = new Set<() => void>();
  let acting: Acting = {actions: new Map(), failed: undefined};
  const set = (change: Partial<Acting>): void => {
    acting = {...acting, ...change};
    for (const listener of listeners) listener();
  };
  return {
    get: () => acting,
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    begin: (action, mails) => set({actions: new Map([...acting.actions, ...mails.map(mail => [mailId(mail), action] as const)])}),
    end: mails => {
      const actions = new Map(acting.actions);
      for (const mail of mails) actions.delete(mailId(mail));
      set({actions});
    },
    fail: ({text, failures}) => set({failed: {text, failures: failures.slice(-mostFailures)}}),
  };
};
