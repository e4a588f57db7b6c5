// Text as a man(7) page takes it. The source is plain ASCII in lines of at most 80 bytes, as every formatter reads it.

const lineBytes = 80;

/** Text without a meaning to the formatter; a hyphen, quote or tilde is the one that can be copied to a command line. */
export const plain = (text: string): string =>
  [...text].map(char => specials[char] ?? (char > '~' ? `\\[u${codePoint(char)}]` : char)).join('');

const specials: Record<string, string> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '\u2019': '\\(cq',
};

const codePoint = (char: string): string => (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

export const bold = (text: string): string => `\\fB${plain(text)}\\fR`;
export const italic = (text: string): string => `\\fI${plain(text)}\\fR`;

/** A word to type is bold, what stands for a value is italic: `-c, --context <name>`, `[command...]`, `[--cacert <file>]`. */
export const syntax = (text: string): string =>
  text
    .split(/(<[^>]*>|\[[^\]]*\])/)
    .map(part => {
      if (part.startsWith('<')) return italic(part.slice(1, -1));
      if (!part.startsWith('[')) return part.replace(/[^\s,]+/g, word => bold(word));
      const inner = part.slice(1, -1);
      return `[${/^-|</.test(inner) ? syntax(inner) : italic(inner)}]`;
    })
    .join('');

/** A filled paragraph, already escaped. No line of it begins as a request would. */
export const filled = (escaped: string): string => {
  const lines: string[] = [];
  for (const word of escaped.split(/\s+/).filter(Boolean)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= lineBytes - 2) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map(guarded).join('\n');
};

/** Lines as they are. */
export const verbatim = (text: string): string =>
  `.EX\n${text
    .split('\n')
    .map(line => guarded(continued(plain(line))))
    .join('\n')}\n.EE`;

const guarded = (line: string): string => line.replace(/^(?=[.'])/, '\\&');

/** A line that is too long for the source goes on after a backslash; an escape is not broken. */
const continued = (line: string): string => {
  if (line.length <= lineBytes) return line;
  const space = line.lastIndexOf(' ', lineBytes - 2) + 1;
  const at = space > 0 ? space : lineBytes;
  return `${line.slice(0, at)}\\\n${continued(line.slice(at))}`;
};

export const definition = (term: string, paragraphs: readonly string[]): string =>
  ['.TP', guarded(term), paragraphs.map(filled).join('\n.IP\n')].join('\n');

/** `show one domain` as a sentence. */
export const sentence = (text: string): string => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.:!?]$/.test(capital) ? capital : `${capital}.`;
};
