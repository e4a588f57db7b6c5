// A program that runs inside the terminal, in a folder that holds the texts and receives their widths.
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';

const folder = process.argv[2] ?? '';
const texts = JSON.parse(await readFile(join(folder, 'texts'), 'utf8')) as string[];
const widths: number[] = [];
/** The number of texts at a time that surely fits the terminal's buffer of unread answers. */
const batchSize = 200;
let asked = 0;

const ask = (): void => {
  const batch = texts.slice(asked, asked + batchSize);
  asked += batch.length;
  process.stdout.write(batch.map(text => `\x1b[H\x1b[2K${text}\x1b[6n`).join(''));
};

process.stdin.setRawMode(true);
let unread = '';
ask();
for await (const chunk of process.stdin) {
  unread += String(chunk);
  for (const [answer, line, column] of unread.matchAll(/\x1b\[(\d+);(\d+)R/g)) {
    // On a second line the text was wider than the terminal.
    widths.push(line === '1' ? Number(column) - 1 : Number.POSITIVE_INFINITY);
    unread = unread.slice(unread.indexOf(answer) + answer.length);
  }
  if (widths.length === texts.length) break;
  if (widths.length === asked) ask();
}
process.stdin.setRawMode(false);
await writeFile(join(folder, 'widths'), JSON.stringify(widths));
