// Previews of mails. A preview is read once the cursor rests, one at a time, and fetches nothing but the mail itself.
import type {ClusterEvent} from '../../../../shared/cluster-event.ts';
import type {ActionOutcome, HeldMailDetail, MailReference} from '../../../../shared/held-mail.ts';
import type {MailEvent} from '../../../../shared/mail-event.ts';
import type {Permission} from '../../../../shared/scopes.ts';
import type {Client} from '../../../client/client.ts';
import {asCliError, CliError} from '../../../errors.ts';
import {actorText, timeText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import type {MailContents} from '../../../quarantine/mail-reader.ts';
import type {Live} from '../../shell/live.ts';
import {createValue} from '../../shell/store.ts';

/** loading → ready or failed; each of them → gone. */
export type Preview =
  | {state: 'loading'}
  | {state: 'ready'; detail: HeldMailDetail; contents: MailContents; history?: readonly MailEvent[]; gone?: string}
  | {state: 'failed'; failure: CliError}
  | {state: 'gone'; gone: string};

interface MailPreviewNeeds {
  client: Pick<Client, 'quarantine' | 'trace'>;
  may(permission: Permission): boolean;
  live: Pick<Live, 'on'>;
  /** How long the cursor rests before a preview is read. */
  restMs?: number;
}

const maxPreviews = 30;
const maxHeaders = 300;
const maxHeaderCharacters = 2000;

export const createMailPreviews = ({client, may, live, restMs = 150}: MailPreviewNeeds) => {
  /** The least recently set are dropped. */
  const previews = createValue<ReadonlyMap<string, Preview>>(new Map());
  const previewOf = (id: string): Preview | undefined => previews.get().get(id);
  const without = (id: string) => [...previews.get()].filter(([known]) => known !== id);
  const set = (id: string, preview: Preview): void =>
    previews.set(new Map([...without(id), [id, preview] as const].slice(-maxPreviews)));
  let wanted: MailReference | undefined;
  let isReading = false;
  let timer: NodeJS.Timeout | undefined;

  const read = async (): Promise<void> => {
    const mail = wanted;
    if (isReading || !mail || previewOf(mailId(mail))) return;
    const id = mailId(mail);
    isReading = true;
    set(id, {state: 'loading'});
    try {
      const {detail, contents} = await readPreview(client, mail);
      const history = may('trace:read') ? await readHistory(client, mail) : [];
      const known = previewOf(id);
      set(id, {state: 'ready', detail, contents, history, ...(known?.state === 'gone' && {gone: known.gone})});
    } catch (error) {
      const failure = asCliError(error);
      const isGone = failure.code === 'not_found';
      const gone = 'It is not held any more: released, discarded or expired.';
      set(id, isGone ? {state: 'gone', gone} : {state: 'failed', failure});
    } finally {
      isReading = false;
    }
    void read();
  };
  const receive = (event: ClusterEvent | undefined): void => {
    if (event?.type !== 'released' && event?.type !== 'discarded') return;
    const id = mailId(event);
    const known = previewOf(id);
    if (!known) return;
    const gone = goneText(event);
    set(id, known.state === 'ready' ? {...known, gone} : {state: 'gone', gone});
  };

  return {
    /** The preview of a mail; the same object until it changes. */
    get: previewOf,
    subscribe: previews.subscribe,
    /** Sets the mail to read after the rest; undefined for none. */
    want: (mail: MailReference | undefined): void => {
      wanted = mail;
      clearTimeout(timer);
      if (mail && !previewOf(mailId(mail))) timer = setTimeout(read, restMs);
    },
    /** Reads it again, if it failed. */
    retry: (): void => {
      const id = wanted && mailId(wanted);
      if (id !== undefined && previewOf(id)?.state === 'failed') previews.set(new Map(without(id)));
      void read();
    },
    /** Starts to follow mails that leave the list. Returns a function that stops it. */
    show: (): (() => void) => {
      const stop = live.on(['released', 'discarded'], receive);
      return () => {
        stop();
        clearTimeout(timer);
      };
    },
  };
};

export const goneText = (outcome: ActionOutcome): string => {
  const {state, acted_at: at, acted_by_key_id: by} = outcome;
  return `It has been ${state} at ${timeText(at)}${by === null ? '' : ` ${actorText(outcome)}`}.`;
};

/** A mail can be read without it: a node of an earlier version has no event log. */
const readHistory = async (client: Pick<Client, 'trace'>, mail: MailReference): Promise<readonly MailEvent[]> => {
  try {
    return (await client.trace.show(mail)).data;
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
};

const readPreview = async (client: Pick<Client, 'quarantine'>, mail: MailReference) => {
  const {data: detail} = await client.quarantine.get(mail);
  const [{readMail}, body] = await Promise.all([import('../../../quarantine/mail-reader.ts'), client.quarantine.body(mail)]);
  const contents = await readMail(body);
  const headers = contents.headers
    .slice(0, maxHeaders)
    .map(({name, value}) => ({name: name.slice(0, 200), value: value.slice(0, maxHeaderCharacters)}));
  return {detail, contents: {...contents, headers}};
};
