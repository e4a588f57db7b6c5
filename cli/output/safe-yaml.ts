// Loaded when YAML is asked for, and only then.
import {Document, isScalar, visit} from 'yaml';
import {escapeUnsafe, isSafe} from './safe-json.ts';

/** YAML 1.2 that a 1.1 parser reads to the same value, and that a terminal can be shown. */
export const safeYaml = (value: unknown): string => {
  const document = new Document(value, {aliasDuplicateObjects: false, compat: 'yaml-1.1'});
  visit(document, {
    // Only between double quotes can a character be escaped. Line breaks are, too: a line of the output is a line of ours.
    Scalar: (_, scalar) => {
      if (isScalar<unknown>(scalar) && typeof scalar.value === 'string' && !isSafe(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeUnsafe(document.toString({lineWidth: 0, doubleQuotedAsJSON: true}), escaped);
};

/** Half of a surrogate pair is no character to other parsers, so one escape says all of it. */
const escaped = (char: string): string => {
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};
