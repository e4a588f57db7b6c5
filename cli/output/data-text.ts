// Formats for programs: JSON, YAML, CSV and others.
import {safeLine} from '../../shared/safe-text.ts';
import {fieldsOf, toCsv} from './csv.ts';
import {type FieldChoice, type OutputFormat, pick} from './output-format.ts';
import {safeJson} from './safe-json.ts';
import type {Fields} from './table.ts';

export interface Data<T> {
  /** For JSON and YAML: the data of the envelope. */
  value: unknown;
  /** For formats with a line for each record. */
  records: readonly T[];
  /** Undefined when only the records show which fields there are. */
  fields?: readonly string[] | undefined;
  nameOf(record: T): string;
}

type DataFormat = Exclude<OutputFormat, 'table' | 'wide'>;

export const dataText = <T>({value, records, fields, nameOf}: Data<T>, format: DataFormat, toYaml: ToYaml): string => {
  switch (format) {
    case 'json':
      return `${safeJson(value, 2)}\n`;
    case 'ndjson':
      return records.map(record => `${safeJson(record)}\n`).join('');
    case 'yaml':
      return toYaml(value);
    case 'csv':
      return toCsv(fields ?? fieldsOf(records), records);
    case 'name':
      return records.map(record => `${safeLine(nameOf(record))}\n`).join('');
    default:
      return format satisfies never;
  }
};

/** The text of a list that comes in pieces: only the first one has the header of CSV. */
export const createPieces = <T>(
  format: DataFormat,
  {choice, toYaml = () => ''}: {choice: FieldChoice | undefined; toYaml: ToYaml | undefined},
  {fields, nameOf}: Fields<T>,
): ((piece: Pick<Data<T>, 'value' | 'records'>) => string) => {
  let hasHeader = false;
  return piece => {
    const all = {...piece, fields, nameOf};
    const data = choice === undefined ? all : picked(all, choice);
    const text = dataText(data as typeof all, format, toYaml);
    const isRepeated = format === 'csv' && hasHeader;
    hasHeader = true;
    return isRepeated ? text.slice(toCsv(data.fields ?? fields, []).length) : text;
  };
};

export type ToYaml = (value: unknown) => string;

/** The same with the chosen fields only. An answer with a single record stays one record. */
export const picked = <T>(data: Data<T>, choice: FieldChoice): Data<unknown> => {
  const {value, records} = data;
  const isRecord = records.length === 1 && records[0] === value;
  const rows = choice.isOfAnswer ? [pick(value, choice)] : records.map(record => pick(record, choice));
  return {...data, value: choice.isOfAnswer || isRecord ? rows[0] : rows, records: rows, fields: choice.names, nameOf: String};
};
