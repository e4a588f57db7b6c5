// The pictures of the documents in a real browser. One that collapses blanks draws the same number of pixels with stretched letters.
import {execFile} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import ava from 'ava';
import {isInstalled} from './helpers/installed.ts';
import {testFolder} from './helpers/test-folder.ts';
import {screenPicture} from './pictures/svg.ts';

const test = isInstalled('chromium') ? ava : ava.skip;

interface Measured {
  text: string;
  /** How many characters the browser draws. */
  drawn: number;
  /** From the first to the last character that is no blank, in pixels. */
  width: number;
}

/** Runs in the browser. */
const script = `
  const texts = [...document.querySelectorAll('g text')].map(element => {
    const text = element.textContent;
    const drawn = element.getNumberOfChars();
    const first = text.length - text.trimStart().length;
    const last = text.trimEnd().length - 1;
    const isWhole = drawn === text.length;
    const width = isWhole ? element.getEndPositionOfChar(last).x - element.getStartPositionOfChar(first).x : 0;
    return {text, drawn, width};
  });
  document.documentElement.setAttribute('data-texts', encodeURIComponent(JSON.stringify(texts)));`;

const measure = async (folder: string, svg: string): Promise<Measured[]> => {
  const file = join(folder, 'picture.svg');
  await writeFile(file, svg.replace('</svg>', `<script><![CDATA[${script}]]></script></svg>`));
  // As root it starts without its sandbox only. It reads nothing but this file.
  const options = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'profile')}`, '--dump-dom'];
  const {stdout} = await promisify(execFile)('chromium', [...options, `file://${file}`], {
    env: {...process.env, HOME: folder},
    timeout: 120_000,
  });
  return JSON.parse(decodeURIComponent(/data-texts="([^"]*)"/.exec(stdout)?.[1] ?? '[]'));
};

/** The width of a character in the pictures. */
const cell = 8.4;

/** The tabs above every screen. They are ASCII, so that every font draws them in cells of one width. */
const tabs = /\d (Cluster|Quarantine|Domains|Keys|Audit|Events)/;

const stretched = (texts: readonly Measured[]): Measured[] =>
  texts.filter(({text, drawn, width}) => {
    const isWide = Math.abs(width - text.trim().length * cell) > cell / 2;
    return drawn !== text.length || (tabs.test(text) && isWide);
  });

const docs = join(import.meta.dirname, '../docs');

for (const name of readdirSync(docs).filter(file => file.endsWith('.svg')))
  test(`${name} has all its blanks in Chromium, and its tabs the width of their characters`, async t => {
    const texts = await measure(await testFolder(t), readFileSync(join(docs, name), 'utf8'));

    t.true(texts.filter(({text}) => tabs.test(text)).length > 1);
    t.deepEqual(stretched(texts), []);
  });

test('a picture that leaves blanks to the browser is found', async t => {
  const picture = screenPicture('  1 Cluster  2 Quarantine ', {columns: 40, title: 'tabs'});

  const [folder, broken] = [await testFolder(t), picture.replaceAll('style="white-space:pre"', '')];

  t.deepEqual(stretched(await measure(folder, picture)), []);
  t.is(stretched(await measure(folder, broken)).length, 1);
});
