import test from 'ava';
import {htmlText} from '../../../cli/quarantine/html-text.ts';

const shown = (html: string): string => htmlText(html).text.trim();

const goesTo: [what: string, html: string, text: string][] = [
  ['a link', '<a href="https://evil.example/x?a=1&amp;b=2">click</a> now', 'click → https://evil.example/x?a=1&b=2 now'],
  ['a link in capitals', '<A class=x HREF=https://evil.example>click</A>', 'click → https://evil.example/'],
  ['an attribute after one with >', `<a title="a > b" href='https://evil.example'>click</a>`, 'click → https://evil.example/'],
  [
    'the first of two addresses',
    '<a href=https://evil.example href=https://bank.example>click</a>',
    'click → https://evil.example/',
  ],
  ['a link over several lines', '<a\nhref\n=\n"https://evil.example"\n>click\nhere</a\n>', 'click here → https://evil.example/'],
  ['a picture', '<a href="https://evil.example"><img src=x></a>', '→ https://evil.example/'],
  [
    'a link that says another address',
    '<a href="https://evil.example">https://bank.example</a>',
    'https://bank.example → https://evil.example/',
  ],
  ['a link that says its own address', '<a href="https://bank.example/">https://bank.example</a>', 'https://bank.example'],
  ['a link in a link', '<a href="//x">one <a href="https://evil.example">two</a>', 'one → //x two → https://evil.example/'],
  ['a link without an end', '<a href="https://evil.example">click', 'click → https://evil.example/'],
  [
    'a name and password before the host',
    '<a href="https://bank.example:x@evil.example/">click</a>',
    'click → https://evil.example/',
  ],
  ['letters that look like others', '<a href="https://bаnk.example/">click</a>', 'click → https://xn--bnk-6cd.example/'],
  [
    'breaks and entities in the address',
    '<a href=" ht&#10;tps&colon;//evil.example&#x09;/a b">click</a>',
    'click → https://evil.example/a%20b',
  ],
  ['an @ as entity', '<a href="https://bank.example&commat;evil.example/">click</a>', 'click → https://evil.example/'],
  ['a drawing', '<svg><a xlink:href="https://evil.example">click</a></svg>', 'click → https://evil.example/'],
  ['a button', '<button formaction="https://evil.example">go</button>', 'button → https://evil.example/ go'],
  ['a script', '<a href="javascript:x()">click</a>', 'click → javascript:x()'],
  [
    'a form and a base',
    '<base href="https://evil.example"><form action="/login">name</form>',
    'base → https://evil.example/ form → /login name',
  ],
  ['a place in the mail', '<a href="#top">up</a>', 'up'],
  ['an arrow in the text', '<b>click → https://bank.example</b>', 'click -> https://bank.example'],
  ['an arrow in the address', '<a href="x → https://bank.example">click</a>', 'click → x%20%E2%86%92%20https://bank.example'],
];

for (const [what, html, text] of goesTo)
  test(`${what} shows where it goes`, t => {
    t.is(shown(html), text);
  });

const texts: [what: string, html: string, text: string][] = [
  [
    'styles, scripts, titles and comments',
    '<title>a</title><style>b<p></style><SCRIPT>"</p>"</SCRIPT><!-- c > d -->e<?f?><!g>h</ i>',
    'eh',
  ],
  ['tags within a word', 'pay<b>pal</b> and <i>more</i>', 'paypal and more'],
  ['lines', 'a\n b<br>c<p>d</p><td>e</td><td>f</td>', 'a b\nc d\ne f'],
  ['what is no tag', '1 < 2 <3 &unknown; &#0; &#x110000; &amp;lt;', '1 < 2 <3 &unknown; &#0; &#x110000; &lt;'],
  ['a tag without an end', 'a <b title="x', 'a'],
  ['letters that become two in lower case', `${'İ'.repeat(9)}<style>x</style>b`, `${'İ'.repeat(9)} b`],
];

for (const [what, html, text] of texts)
  test(`${what} are read as browsers do`, t => {
    t.is(shown(html), text);
  });

const click = '<a href="https://evil.example/">click</a>';
const hiding: [what: string, html: string][] = [
  ['a comment that browsers end', `<!-- --!>${click}`],
  ['a comment that Outlook shows', `<!--[if mso]>${click}<![endif]-->`],
  ['a style sheet in a drawing, which a paragraph ends', `<svg><style><p>${click}</style>`],
  ['a style sheet that browsers ignore', `<select><style></select>${click}`],
  ['a style sheet without an end', `<style>${click}`],
  ['a long comment before it', `<!--${' '.repeat(200_000)}-->${click}`],
];

for (const [what, html] of hiding)
  test(`${what} hides no link`, t => {
    const {text, links} = htmlText(`<p>Hello</p>${html}`);
    t.true(links.includes('click → https://evil.example/'), `${text} ${links.join()}`);
  });

test('HTML that goes on behind what is read says so', t => {
  t.false(htmlText(click).isCut);
  t.true(htmlText(`${' '.repeat(2 ** 18)}${click}`).isCut);
});

test('a long address is cut after the host', t => {
  const {links} = htmlText(`<a href="https://${'a'.repeat(5000)}@evil.example/${'b'.repeat(3000)}">${'c'.repeat(500)}</a>`);

  t.is(links.length, 1);
  t.true((links[0] ?? '').length < 400, String(links[0]?.length));
});

test('the work for hostile HTML grows with its size alone', t => {
  const pieces = [
    ...[
      '<',
      '<a ',
      '<a href="',
      "<a href='x",
      '<!--',
      '<style>',
      '</style',
      '<a href=x>',
      '<a =',
      '<a x=y ',
      '&',
      '&#',
      '&amp',
      '</',
      '<!',
      '→ ',
    ],
    ...['<a href=x>\n \n', ' \n', '<table><td>'],
  ];
  for (const piece of pieces) {
    const {text, links} = htmlText(piece.repeat(Math.ceil((1024 * 1024) / piece.length)));
    // 256 KiB are read; an arrow with its address is added to each of 26,000 links at most.
    t.true(text.length < 800_000, `${piece}: ${text.length}`);
    t.true(links.length <= 1, piece);
  }
});
