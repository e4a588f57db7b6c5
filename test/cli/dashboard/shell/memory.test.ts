// Memory of a dashboard that is left open for weeks.
import {Writable} from 'node:stream';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import test, {type ExecutionContext} from 'ava';
import type {ReactElement} from 'react';
import {createTheme} from '../../../../cli/dashboard/shell/theme.ts';

// Production mode, as in the build: in development react keeps a record of every render.
process.env.NODE_ENV = 'production';
const {Box, render, Text} = await import('ink');
const {createElement} = await import('react');
const {Lines} = await import('../../../../cli/dashboard/shell/lines.tsx');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const columns = 120;
const rows = 40;
const redraws = 500;

const heapKiB = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed / 1024;
};

/** KiB that remain after this number of screens, each of which differs in every line from the one before. */
const leftBehind = (t: ExecutionContext, screen: (lines: readonly string[]) => ReactElement): number => {
  let drawn = '';
  const dropped = new Writable({
    write: (chunk, _encoding, done) => {
      drawn = String(chunk);
      done();
    },
  });
  const terminal = Object.assign(dropped, {columns, rows: rows + 1, isTTY: true}) as unknown as NodeJS.WriteStream;
  const theme = createTheme(true);
  const numbered = (n: number) =>
    createElement(
      Box,
      {flexDirection: 'column', width: columns, height: rows},
      screen(Array.from({length: rows}, (_, row) => theme(`${n} ${row} 漢字 ${'x'.repeat(90)}`, 'bold', 'warn'))),
    );
  // In debug mode each render happens at once.
  const app = render(numbered(0), {stdout: terminal, debug: true, patchConsole: false});
  for (let n = 1; n <= 200; n += 1) app.rerender(numbered(n));
  const before = heapKiB();

  for (let n = 201; n <= 200 + redraws; n += 1) app.rerender(numbered(n));
  const after = heapKiB();
  t.regex(drawn, new RegExp(`${200 + redraws} ${rows - 1} 漢字`));
  app.unmount();
  return Math.round(after - before);
};

// The text of these screens alone would be 4 MiB.
const minLeak = 1024;

test.serial('five hundred screens that differ in every line leave nothing behind', t => {
  const left = leftBehind(t, lines => createElement(Lines, {lines, width: columns, height: rows}));

  t.true(left < minLeak, `${left} KiB more`);
});

test.serial('the <Text> of ink still remembers what it has measured: once it does not, lines.tsx can be replaced by it', t => {
  const left = leftBehind(t, lines => createElement(Text, {wrap: 'truncate'}, lines.join('\n')));

  t.true(left > minLeak, `${left} KiB more`);
});
