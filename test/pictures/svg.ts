// SVG picture of a terminal's screen. Text stays text: it can be searched and read aloud.
import {displayWidth} from '../../cli/output/display-width.ts';

interface Style {
  bold: boolean;
  dim: boolean;
  inverse: boolean;
  colour: string | undefined;
}

interface Run {
  text: string;
  column: number;
  width: number;
  style: Style;
}

const plain: Style = {bold: false, dim: false, inverse: false, colour: undefined};
const background = '#16181d';
const foreground = '#d5d8de';
const colours: Record<number, string> = {
  ...{31: '#f2777a', 32: '#8fce7a', 33: '#e8c268', 34: '#7aa7f0', 35: '#c69af0', 36: '#6fc9d8', 37: foreground},
  ...{90: '#7a808c', 91: '#f2777a', 92: '#8fce7a', 93: '#e8c268', 94: '#7aa7f0', 95: '#c69af0', 96: '#6fc9d8', 97: '#ffffff'},
};

const cell = {width: 8.4, height: 18};
const margin = 12;
const titleBar = 28;

/** `screen` in the format of `tmux capture-pane -e`. */
export const screenPicture = (screen: string, {columns, title}: {columns: number; title: string}): string => {
  const lines = screen.trimEnd().split('\n');
  const width = Math.ceil(columns * cell.width + 2 * margin);
  const height = Math.ceil(lines.length * cell.height + 2 * margin + titleBar);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    ...['#f2777a', '#e8c268', '#8fce7a'].map((fill, at) => `<circle cx="${20 + at * 18}" cy="16" r="5.5" fill="${fill}"/>`),
    `<text x="${width / 2}" y="20" fill="#7a808c" font-family="sans-serif" font-size="12" text-anchor="middle">${escaped(title)}</text>`,
    '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14">',
    ...lines.flatMap((line, row) => runsOf(line).flatMap(run => drawn(run, row))),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
};

/** Runs of characters in the same style. */
const runsOf = (line: string): Run[] => {
  const runs: Run[] = [];
  let style = plain;
  let column = 0;
  for (const [, codes, text = ''] of line.matchAll(/(?:\x1b\[([\d;]*)m)?([^\x1b]*)/g)) {
    if (codes !== undefined) style = restyled(style, codes);
    if (text === '') continue;
    const width = displayWidth(text);
    runs.push({text, column, width, style});
    column += width;
  }
  return runs;
};

const restyled = (style: Style, codes: string): Style => Object.assign({...style}, ...codes.split(';').map(Number).map(partOf));

const partOf = (code: number): Partial<Style> => {
  switch (code) {
    case 0:
      return plain;
    case 1:
      return {bold: true};
    case 2:
      return {dim: true};
    case 22:
      return {bold: false, dim: false};
    case 7:
    case 27:
      return {inverse: code === 7};
    default:
      return code === 39 || colours[code] !== undefined ? {colour: colours[code]} : {};
  }
};

const drawn = ({text, column, width, style}: Run, row: number): string[] => {
  const x = margin + column * cell.width;
  const y = titleBar + margin + row * cell.height;
  const ink = style.colour ?? foreground;
  const cells = (width * cell.width).toFixed(1);
  const box = style.inverse
    ? [`<rect x="${x.toFixed(1)}" y="${y}" width="${cells}" height="${cell.height}" fill="${ink}"/>`]
    : [];
  if (text.trim() === '') return box;
  const attributes = [
    // On each text: browsers differ in what a text inherits of `xml:space`, and collapsed blanks stretch the letters.
    'style="white-space:pre"',
    `x="${x.toFixed(1)}"`,
    `y="${y + 13}"`,
    `textLength="${cells}"`,
    'lengthAdjust="spacingAndGlyphs"',
    `fill="${style.inverse ? background : ink}"`,
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['opacity="0.62"'] : []),
  ];
  return [...box, `<text ${attributes.join(' ')}>${escaped(text)}</text>`];
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, char => `&#${char.charCodeAt(0)};`);
