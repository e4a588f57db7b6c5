// Text that is made to do harm or to be displayed wrongly. The same seed gives the same text.

const pieces = [
  ...['\x1b', '\x1b[2J', '\x1b[31m', '\x1b[1;1H', '\x1b[6n', '\x1bc', '\x1b(0', '\x1b#8', '\x1b[?1049h', '\x1b[8;1;1t'],
  ...[
    '\x1b]0;owned\x07',
    '\x1b]52;c;ZXZpbA==\x1b\\',
    '\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\',
    '\x1bP1$r\x1b\\',
    '\x1bPq#0!9~\x1b\\',
  ],
  ...['\x1b_G;\x1b\\', '\x1b^x\x1b\\', '\x9b31m', '\x9d0;t\x9c', '\x90q\x9c', '\x84', '\x85', '\x8d', '\x9c', '\x9f'],
  ...[
    '\x00',
    '\x07',
    '\b',
    '\b\b\b\b',
    '\t',
    '\n',
    '\v',
    '\f',
    '\r',
    '\r\n',
    '\x0e',
    '\x0f',
    '\x18',
    '\x1a',
    '\x7f',
    '\n\nError: ',
  ],
  ...['\u061c', '\u200e', '\u200f', '\u202a', '\u202b', '\u202d', '\u202e', '\u202c', '\u2066', '\u2067', '\u2068', '\u2069'],
  ...[
    '\u200b',
    '\u200c',
    '\u200d',
    '\u2060',
    '\u2063',
    '\ufeff',
    '\u00ad',
    '\u034f',
    '\u180e',
    '\u115f',
    '\u1160',
    '\u3164',
    '\uffa0',
  ],
  ...[
    '\u2028',
    '\u2029',
    '\u2800',
    '\u{e0041}',
    '\u{e007f}',
    '\ufe0e',
    '\ufe0f',
    '\u{e0100}',
    '\ufff9',
    '\ufffc',
    '\ue000',
    '\u{10ffff}',
  ],
  ...['\u0300', '\u0301\u0327\u0323\u0330\u0338', '\u20dd', '\u20e3', '\u0489', '\u0e49', '\u3099', '\u302a', '\u{1d165}'],
  ...[
    '日本語',
    '한국어',
    '각',
    '\u1100\u1161\u11a8',
    '\u1161',
    '\u11a8',
    '\u1100',
    '\ua960\ud7b0\ud7cb',
    'ｶﾞ',
    'Ａ＝',
    '〶',
    '㉈',
    '䷀',
    '☰',
  ],
  ...['สวัสดี น้ำ', 'ຂໍ້ຄວາມຳ', 'नमस्ते क्षत्रिय', 'বাংলা', 'தமிழ்', 'മലയാളം', 'မြို့', 'བོད་སྐད', 'ខ្មែរ', '\u0d4e\u0d15'],
  ...['مرحبا', 'שָׁלוֹם', 'ﷺ', 'ﷲ', 'Ελληνικά', 'мир', 'naïve', 'e\u0301', 'ß', 'ŉ', 'ǆ', '½', '–', '…', '\u00a0', '\u3000'],
  ...['🙂', '👍🏽', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '🇩', '1️⃣', '❤️', '☺', '🫨', '🏴\u{e0067}\u{e0062}\u{e007f}', '🏽', '©️', '™'],
  ...[
    '\ud800',
    '\udfff',
    '\ud83d',
    '=1+2',
    '+1',
    '-1',
    '@SUM(A1)',
    '＝1',
    '＋1',
    '－1',
    '＠x',
    "'",
    '"',
    '"=1',
    ',',
    ';',
    '\t=1',
    ' =1',
    'null',
    '~',
    '- x',
    ': ',
    '#',
  ],
  ...['a', 'bc', 'Invoice', ' ', '  ', '<b>', '%s', '\\', '$(id)', '`id`', '{{x}}', '1'],
  // Broken UTF-8 as a decoder returns it.
  ...['c3', 'e282', 'f09f98', 'c0af', 'eda080', 'fe', '80'].map(hex => Buffer.from(`61${hex}62`, 'hex').toString('utf8')),
];

/** One text in a thousand is very long; one in thirty is empty or a single character of any kind. */
export const hostileTexts = (count: number, seed: number): string[] => {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const piece = (): string => (below(8) === 0 ? String.fromCodePoint(below(0x32000)) : (pieces[below(pieces.length)] ?? ''));
  const text = (): string => {
    const kind = below(1000);
    const length = kind === 0 ? 2000 + below(3000) : kind < 30 ? below(2) : 1 + below(8);
    return Array.from({length}, piece).join('');
  };
  return Array.from({length: count}, text);
};

/** Mulberry32. */
const createRandom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};
