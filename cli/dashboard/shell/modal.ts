// Modals: questions, prompts, choices, pages and forms. A modal takes all keys until it is closed.

/** A yes-or-no question that carries what it is about, so that nothing that happens meanwhile changes what a yes means. */
export interface Question {
  kind: 'question';
  /** What will be done, exactly. Hostile text is made safe when it is drawn. */
  lines: readonly string[];
  /** What a yes does, as a word: `release`. */
  yes: string;
  onYes(): void;
  /** What a no does, where it is more than nothing. */
  no?: string;
  onNo?(): void;
}

/** One line of text. */
export interface Prompt {
  kind: 'prompt';
  label: string;
  text: string;
  /** Why the text cannot be used, or undefined when it can. */
  check?(text: string): string | undefined;
  /** Something to say of the text as far as it is typed. */
  hint?(text: string): string | undefined;
  /** Ways to go on from here; each is a whole line. */
  complete?(text: string): readonly string[];
  /** What was submitted before, oldest first. */
  history?: readonly string[];
  /** What a line break in pasted text becomes; a space where there is none. */
  separator?: string;
  onSubmit(text: string): void;
  onCancel?(): void;
}

export interface Choice {
  kind: 'choice';
  title: string;
  items: readonly {label: string; detail?: string}[];
  chosen?: number;
  onChoose(index: number): void;
  /** Further keys with what they do to the item under the cursor. */
  keys?: readonly {key: string; label: string; run(index: number): void}[];
}

/** Text to read, over the whole screen. */
export interface Page {
  kind: 'page';
  title: string;
  /** Safe and styled lines; drawn again for each width. */
  lines(width: number): readonly string[];
  /** Said in place of `escape closes`; such a page is closed by enter alone. */
  mustConfirm?: string;
  onClose?(): void;
  /** Further keys; the page stays. */
  keys?: readonly {key: string; label: string; run(): void}[];
}

export interface Form {
  kind: 'form';
  title: string;
  fields: readonly FormField[];
  /** What is wrong with it from the beginning, by the names of fields: what the node said of the last try. */
  errors?: Readonly<Record<string, string>>;
  /** By the names of fields that cannot be used as they are. */
  check?(values: FormValues): Readonly<Record<string, string>>;
  onSubmit(values: FormValues): void;
}

export type FormValues = Readonly<Record<string, string>>;

export interface FormField {
  name: string;
  label: string;
  /** As text. */
  value: string;
  /** Only one of these; left and right go through them. */
  choices?: readonly string[];
  /** What a line break in pasted text becomes; a space where there is none. */
  separator?: string;
  hint?: string;
}

export type Modal = Question | Prompt | Choice | Page | Form;
