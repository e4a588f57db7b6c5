// State of the quarantine screen besides the list: the selection, and the preview.
import type {HeldMail, MailReference} from '../../../../shared/held-mail.ts';
import {senderText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';

/** The members of a mail that actions and messages need, as many mails may be selected. */
export interface PickedMail extends MailReference {
  from: string;
  to: string;
  subject: string;
}

export type PreviewMode = 'off' | 'beside' | 'full';

interface Collecting {
  what: string;
  done: number;
  total: number;
  stop(): void;
}

export interface ScreenState {
  /** By id, in the order in which they were selected. */
  picked: ReadonlyMap<string, PickedMail>;
  /** Describes a selection that was made at once; undefined after it was changed. */
  whole: string | undefined;
  /** The start of a range that ends at the cursor. */
  rangeStart: HeldMail | undefined;
  preview: PreviewMode;
  /** First line of the preview that is shown. */
  scroll: number;
  /** Mails that have arrived above the cursor since it left the top. */
  newAbove: number;
  /** All matches, or a range, are being read for selection. */
  collecting: Collecting | undefined;
}

export type ScreenEvent =
  | {type: 'toggled'; mail: HeldMail}
  | {type: 'picked'; mails: readonly PickedMail[]; whole?: string}
  | {type: 'dropped'}
  | {type: 'range-begun'; mail: HeldMail}
  | {type: 'range-left'}
  | {type: 'previewed'; mode: PreviewMode}
  /** `last` is the highest scroll position. */
  | {type: 'scrolled'; by: number; last: number}
  | {type: 'scroll-reset'}
  | {type: 'arrived'; count: number}
  | {type: 'top-shown'}
  | {type: 'collecting'; progress: Collecting | undefined};

/** The largest selection. */
export const maxPicked = 100_000;

export const initialScreen: ScreenState = {
  picked: new Map(),
  whole: undefined,
  rangeStart: undefined,
  preview: 'off',
  scroll: 0,
  newAbove: 0,
  collecting: undefined,
};

export const afterScreenEvent = (state: ScreenState, event: ScreenEvent): ScreenState => {
  switch (event.type) {
    case 'toggled': {
      const picked = new Map(state.picked);
      const id = mailId(event.mail);
      if (!picked.delete(id) && picked.size < maxPicked) picked.set(id, pickedMail(event.mail));
      return {...state, picked, whole: undefined};
    }
    case 'picked': {
      const picked = new Map(state.picked);
      for (const mail of event.mails) if (picked.size < maxPicked) picked.set(mailId(mail), mail);
      return {...state, picked, whole: picked.size === event.mails.length ? event.whole : undefined};
    }
    case 'dropped':
      return {...state, picked: new Map(), whole: undefined};
    case 'range-begun':
      return {...state, rangeStart: event.mail};
    case 'range-left':
      return {...state, rangeStart: undefined};
    case 'previewed':
      return {...state, preview: event.mode, scroll: event.mode === 'off' ? 0 : state.scroll};
    case 'scrolled':
      return {...state, scroll: Math.max(0, Math.min(state.scroll + event.by, event.last))};
    case 'scroll-reset':
      return state.scroll === 0 ? state : {...state, scroll: 0};
    case 'arrived':
      return {...state, newAbove: state.newAbove + event.count};
    case 'top-shown':
      return state.newAbove === 0 ? state : {...state, newAbove: 0};
    case 'collecting':
      return {...state, collecting: event.progress};
    default:
      return event satisfies never;
  }
};

export const pickedMail = ({node_id, queue_id, sender, recipients, subject}: HeldMail): PickedMail => ({
  node_id,
  queue_id,
  from: senderText(sender).slice(0, 80),
  to: recipients.length > 1 ? `${recipients[0]?.slice(0, 80)} +${recipients.length - 1}` : (recipients[0]?.slice(0, 80) ?? ''),
  subject: subject.slice(0, 80),
});
