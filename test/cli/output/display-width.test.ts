import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';
import test from 'ava';
import {displayWidth} from '../../../cli/output/display-width.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {hostileTexts} from '../../helpers/cli/hostile-text.ts';

/** The width function of the dashboard's library. */
const inkWidth = async (): Promise<(text: string) => number> => {
  const ink = createRequire(createRequire(import.meta.url).resolve('ink'));
  const {default: stringWidth} = await import(pathToFileURL(ink.resolve('string-width')).href);
  return stringWidth;
};

/** Characters of the two planes used for writing; ideographs and Korean syllables all have the same width. */
const characters = Array.from({length: 0x20000}, (_, code) => String.fromCodePoint(code))
  .filter(char => !/[\p{Script=Han}\uac00-\ud7a3]/u.test(char) && safeLine(`a${char}`) === `a${char}`)
  .map(char => `a${char}`);

test('no safe text takes more cells in the dashboard than in a table, so that no line is wrapped or cut there', async t => {
  const widthInInk = await inkWidth();
  const tooWide = (texts: readonly string[]) =>
    texts.map(text => safeLine(text)).filter(text => widthInInk(text) > displayWidth(text));

  t.deepEqual(tooWide(characters), []);
  t.deepEqual(tooWide(hostileTexts(5000, 1)), []);
});
