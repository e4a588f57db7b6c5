// Field errors of a node, with the command's options and arguments in place of the request's members.
import type {Option} from 'commander';
import type {FieldFault} from '../../shared/fault.ts';
import {quoted} from '../../shared/shell-word.ts';
import type {CliError, TypedFieldFault} from '../errors.ts';
import {collected} from './option-values.ts';
import {optionsOf, type TypedWords} from './typed-words.ts';

/** Options whose names differ from their member's. Of several, the one on the command line is meant. */
const options: Readonly<Record<string, readonly string[]>> = {
  backend_servers: ['--backend'],
  domains: ['--domain'],
  dkim_active: ['--dkim'],
  active: ['--active', '--inactive'],
  rate_limit_per_minute: ['--rate-limit'],
  expires_at: ['--expires-at', '--expires-in'],
  at: ['--at', '--in'],
  expires_in_s: ['--expires-in'],
  pattern: ['--sender', '--sender-domain', '--subject', '--header'],
  key_id: ['--key-id', '--key'],
  by_reason: ['--reason'],
  recipients: ['--only'],
  // An argument; the option of this name is the address of a node.
  url: [],
};

/** Members and path parameters that are arguments, with the names of these arguments. */
const operands: Readonly<Record<string, readonly string[]>> = {
  name: ['name'],
  url: ['url'],
  id: ['domain', 'id'],
  node_id: ['node'],
  filter_id: ['id'],
  selector: ['selector'],
};

/** Adds `typed` to the fields of a validation error, and rebuilds its detail where that lists the fields. Other errors stay as they are. */
export const withTypedFields = (error: CliError, typed: TypedWords): CliError => {
  const {code, detail, fields} = error;
  if (code !== 'validation_failed' && code !== 'invalid_parameter') return error;
  const typedFields = fields.map((field): TypedFieldFault => {
    const name = typedName(typed, field.path);
    return {path: field.path, detail: withOptions(typed, field.detail), ...(name !== undefined && {typed: name})};
  });
  const isOfFields = detail === fields.map(fieldText).join('; ');
  return error.with({detail: isOfFields ? typedFields.map(fieldText).join('; ') : detail, fields: typedFields});
};

export const fieldText = ({path, typed, detail}: TypedFieldFault): string => `${typed ?? path} ${detail}`;

/** `--backend mail`, `--reject-threshold`, or the argument itself; undefined when the command has neither. */
const typedName = (typed: TypedWords, path: FieldFault['path']): string | undefined => {
  const [member = '', index] = path.split('.');
  const option = optionFor(typed, member);
  if (option === undefined) return operandFor(typed, member);
  const values = typed.given.get(option) ?? [];
  const value = index === undefined ? onlyOf(option, values) : values[Number(index)];
  const long = option.long ?? option.flags;
  return value === undefined ? long : `${long} ${quoted(value)}`;
};

/** Of an option that could have been repeated, and was not: the API has another member for one value. */
const onlyOf = ({parseArg}: Option, values: readonly string[]): string | undefined =>
  parseArg === collected && values.length === 1 ? values[0] : undefined;

const optionFor = ({command, given}: TypedWords, member: string) => {
  const names = Object.hasOwn(options, member) ? (options[member] ?? []) : [`--${member.replaceAll('_', '-')}`];
  const known = optionsOf(command).filter(({long}) => names.includes(long ?? ''));
  return known.find(option => given.has(option)) ?? known[0];
};

const operandFor = ({command, operands: typed}: TypedWords, member: string): string | undefined => {
  const names = Object.hasOwn(operands, member) ? (operands[member] ?? []) : [];
  const value = typed[command.registeredArguments.findIndex(argument => names.includes(argument.name()))];
  return value === undefined ? undefined : quoted(value);
};

/** `must not be above reject_threshold (15)`, and a list in backquotes: `for several: `domains`` */
const withOptions = (typed: TypedWords, detail: string): string =>
  detail
    .replace(/`([a-z_]+)`/g, (text, member) => {
      const option = optionFor(typed, member);
      if (option === undefined) return text;
      return option.parseArg === collected ? `repeat ${option.long}` : (option.long ?? text);
    })
    .replace(/\b[a-z]+(?:_[a-z]+)+\b/g, member => optionFor(typed, member)?.long ?? member);
