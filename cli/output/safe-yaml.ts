// YAML output, loaded only when it is needed.
import {Document, isScalar, visit} from 'yaml';
import {escapeUnsafe, isSafe} from './safe-json.ts';

/** YAML 1.2 that a 1.1 parser reads to the same value, and that is safe on a terminal. */
export const safeYaml = (value: unknown): string => {
  const document = new Document(value, {aliasDuplicateObjects: false, compat: 'yaml-1.1'});
  visit(document, {
    // Only double-quoted text can contain escapes. Line breaks are escaped too, so that hostile text cannot begin a line.
    Scalar: (_, scalar) => {
      if (isScalar<unknown>(scalar) && typeof scalar.value === 'string' && !isSafe(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeUnsafe(document.toString({lineWidth: 0, doubleQuotedAsJSON: true}), escaped);
};

/** One escape for a whole surrogate pair, as other parsers refuse a half. */
const escaped = (char: string): string => {
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};
