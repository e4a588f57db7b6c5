import {safeLine} from '../../shared/safe-text.ts';
import {fieldText} from '../command-line/typed-fields.ts';
import type {CliError} from '../errors.ts';
import {paint} from './column.ts';
import type {OutputFormat} from './output-format.ts';
import {safeJson} from './safe-json.ts';

/** The error for standard error: lines for a person, or one JSON object for a script that reads JSON or YAML (JSON is YAML, too). */
export const failureReport = (error: CliError, {format, isColour}: {format: OutputFormat; isColour: boolean}): string => {
  const isObject = format === 'json' || format === 'ndjson' || format === 'yaml';
  if (!isObject) return asLines(error, isColour);
  return `${safeJson({error: asObject(error)}, format === 'ndjson' ? undefined : 2)}\n`;
};

const asLines = ({code, detail, requestId, fields, hint}: CliError, isColour: boolean): string => {
  const origin = requestId === undefined ? code : `${code}, request ${requestId}`;
  // Several wrong fields have a line each, below.
  const isOfFields = fields.length > 1 && detail === fields.map(fieldText).join('; ');
  const what = isOfFields ? `${fields.length} values are wrong` : detail;
  const lines = [
    `${isColour ? paint('error:', 'bad') : 'error:'} ${safeLine(`${what} (${origin})`)}`,
    // With one wrong field the detail already contains it.
    ...fields
      .filter(field => fieldText(field) !== detail)
      .map(field => safeLine(`  ${(field.typed ?? field.path) || 'body'}: ${field.detail}`)),
    ...(hint === undefined ? [] : [safeLine(`hint: ${hint}`)]),
  ];
  return lines.map(line => `${line}\n`).join('');
};

const asObject = ({code, detail, fields, requestId, hint, exitCode}: CliError) => ({
  code,
  detail,
  // Scripts get the names of the API.
  ...(fields.length > 0 && {fields: fields.map(field => ({path: field.path, detail: field.detail}))}),
  ...(requestId !== undefined && {request_id: requestId}),
  ...(hint !== undefined && {hint}),
  exit_code: exitCode,
});
