// Checks of values that a person wrote into a file.
import {isWellFormed, labelPattern} from '../../shared/label-rules.ts';

export type Path = readonly (string | number)[];
/** Records a fault of the value at a path. */
export type ReportFault = (path: Path, detail: string) => void;

/** The fault of a label that a person typed. */
export const labelFault = (value: unknown, maxChars: number): string | undefined => {
  if (typeof value !== 'string') return 'must be a text';
  const text = value.trim();
  if (text === '') return 'must not be empty';
  if (text.length > maxChars) return `must be at most ${maxChars} characters`;
  return labelPattern.test(text) && isWellFormed(text) ? undefined : 'must not contain control characters';
};

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const reportUnknownMembers = (value: object, known: readonly string[], path: Path, reportFault: ReportFault): void => {
  for (const name of Object.keys(value))
    if (!known.includes(name)) reportFault([...path, name], `is not known here; known are ${known.join(', ')}`);
};
