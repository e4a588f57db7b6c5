// Modals: questions, prompts, choices, pages and forms. A modal takes all keys until it is closed.

/** A yes-or-no question. It carries its subject, so that nothing that happens meanwhile changes the meaning of a yes. */
export interface Question {
  kind: 'question';
  /** What exactly will be done. Hostile text is sanitised when it is drawn. */
  lines: readonly string[];
  /** The word for a yes: `release`. */
  yes: string;
  onYes(): void;
  /** The number that must be typed for a yes, where much would be done: a key may be pressed by accident. */
  number?: number;
  /** The words for a no, when it does something. */
  no?: string;
  onNo?(): void;
}

/** One line of text. */
export interface Prompt {
  kind: 'prompt';
  label: string;
  text: string;
  /** Why the text is invalid, or undefined when it is valid. */
  check?(text: string): string | undefined;
  /** A hint on the text typed so far. */
  hint?(text: string): string | undefined;
  /** Completions of the text; each is a whole line. */
  complete?(text: string): readonly string[];
  /** Lines submitted before, oldest first. */
  history?: readonly string[];
  onSubmit(text: string): void;
}

export interface Choice {
  kind: 'choice';
  title: string;
  items: readonly {label: string; detail?: string}[];
  chosen?: number;
  onChoose(index: number): void;
  /** Further keys, which act on the item under the cursor. */
  keys?: readonly {key: string; label: string; run(index: number): void}[];
}

/** Text to read, over the whole screen. */
export interface Page {
  kind: 'page';
  title: string;
  /** Safe and styled lines; drawn again for each width. */
  lines(width: number): readonly string[];
  /** Replaces `escape closes`; such a page is closed by enter alone. */
  mustConfirm?: string;
  onClose?(): void;
  /** Further keys, which leave the page open. */
  keys?: readonly {key: string; label: string; run(): void}[];
}

export interface Form {
  kind: 'form';
  title: string;
  fields: readonly FormField[];
  /** Initial errors by field: those of the node on the last attempt. */
  errors?: Readonly<Record<string, string>>;
  /** Where the cursor was when the form was left before. */
  place?: FormPlace | undefined;
  /** The errors of invalid fields, by name. */
  check?(values: FormValues): Readonly<Record<string, string>>;
  onSubmit(values: FormValues, place?: FormPlace): void;
  /** Called after escape. */
  onGiveUp?(values: FormValues, place: FormPlace): void;
}

export type FormValues = Readonly<Record<string, string>>;

export interface FormPlace {
  /** Index of the field under the cursor. */
  field: number;
  /** In the text of each field that the cursor was in, by name. */
  cursors: Readonly<Record<string, number>>;
}

export interface FormField {
  name: string;
  label: string;
  /** As text. */
  value: string;
  /** The allowed values; left and right go through them. */
  choices?: readonly string[];
  /** Replaces line breaks in pasted text; a space by default. */
  separator?: string;
  hint?: string;
}

export type Modal = Question | Prompt | Choice | Page | Form;
