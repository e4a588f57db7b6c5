// Fields that people type: as options of a command, and in the forms of the dashboard.
import {type Command, Option} from 'commander';

/** An option that sets a field, or one of several that do. */
interface FieldOption {
  flags: string;
  description: string;
  parse?(text: string, earlier: unknown): unknown;
  choices?: readonly string[];
  conflicts?: string | string[];
  isMandatory?: true;
  /** The verb that alone has it, where a noun has several with such options. */
  only?: string;
}

export interface TypedField<Flags> {
  /** In details and forms. */
  label: string;
  /** In forms, where it is not `label`. */
  prompt?: string;
  /** In forms. */
  hint: string;
  choices?: readonly string[];
  separator?: string;
  /** The value that a text stands for, right or wrong. */
  parse(text: string, nowMs: number): unknown;
  options: readonly FieldOption[];
  /** The value of the options as commander parses them; undefined when none was given. */
  given(flags: Flags): unknown;
}

export const addFieldOptions = (command: Command, fields: readonly TypedField<never>[], verb?: string): Command => {
  for (const {flags, description, parse, choices, conflicts, isMandatory, only = verb} of fields.flatMap(
    ({options}) => options,
  )) {
    if (only !== verb) continue;
    const option = new Option(flags, description);
    if (choices) option.choices(choices);
    if (parse) option.argParser(parse);
    if (conflicts) option.conflicts(conflicts);
    command.addOption(option.makeOptionMandatory(isMandatory === true));
  }
  return command;
};

/** The values of the fields that were given, by the names of the fields. */
export const givenValues = <Flags>(fields: Readonly<Record<string, TypedField<Flags>>>, flags: Flags): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, {given}]) => {
      const value = given(flags);
      return value === undefined ? [] : [[name, value]];
    }),
  );

const numeric = /^[+-]?\d{1,9}(\.\d{1,20})?$/;

/** The number that a text stands for, or the text where it stands for none. */
export const typedNumber = (text: string): number | string => {
  const trimmed = text.trim();
  return numeric.test(trimmed) ? Number(trimmed) : trimmed;
};
