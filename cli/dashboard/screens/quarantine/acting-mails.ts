// Mails with a confirmed action, which continues while other screens are shown.
import type {HoldAction, MailReference} from '../../../../shared/held-mail.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import {createValue, type Watched} from '../../shell/store.ts';
import type {ActionFailure} from './held-mail-actions.ts';

interface FailedAction {
  /** The result of the action, and the reason when it ended early. */
  text: string;
  /** Mails whose action failed; oldest first. */
  failures: readonly ActionFailure[];
}

export interface Acting {
  /** By id. */
  actions: ReadonlyMap<string, HoldAction>;
  /** The last action that failed, at least in part; later successes do not remove it. */
  failed: FailedAction | undefined;
}

export interface ActingMails extends Watched<Acting> {
  begin(action: HoldAction, mails: readonly MailReference[]): void;
  end(mails: readonly MailReference[]): void;
  fail(failed: FailedAction): void;
}

const maxFailures = 10_000;

export const createActingMails = (): ActingMails => {
  const {get, subscribe, set} = createValue<Acting>({actions: new Map(), failed: undefined});
  const change = (part: Partial<Acting>): void => set({...get(), ...part});
  return {
    get,
    subscribe,
    begin: (action, mails) =>
      change({actions: new Map([...get().actions, ...mails.map(mail => [mailId(mail), action] as const)])}),
    end: mails => {
      const actions = new Map(get().actions);
      for (const mail of mails) actions.delete(mailId(mail));
      change({actions});
    },
    fail: ({text, failures}) => change({failed: {text, failures: failures.slice(-maxFailures)}}),
  };
};
