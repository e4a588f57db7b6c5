// Styles of the dashboard. Colour is never the only sign: a glyph or a word says the same.
import type {Tone} from '../../output/column.ts';

export type Style = Tone | 'title' | 'dim' | 'bold' | 'accent' | 'cursor' | 'picked';

/** Puts a style around safe text. */
export type Theme = (text: string, ...styles: readonly (Style | undefined)[]) => string;

const codes: Record<Style, readonly [on: number, off: number]> = {
  good: [32, 39],
  warn: [33, 39],
  bad: [31, 39],
  accent: [36, 39],
  picked: [35, 39],
  bold: [1, 22],
  title: [1, 22],
  dim: [2, 22],
  cursor: [7, 27],
};

const colours: readonly Style[] = ['good', 'warn', 'bad', 'accent', 'picked'];

export const createTheme =
  (isColour: boolean): Theme =>
  (text, ...styles) =>
    styles.reduce<string>((painted, style) => {
      if (style === undefined || painted === '' || (!isColour && colours.includes(style))) return painted;
      const [on, off] = codes[style];
      return `\x1b[${on}m${painted}\x1b[${off}m`;
    }, text);
