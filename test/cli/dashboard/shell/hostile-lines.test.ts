import test from 'ava';
import {render} from 'ink-testing-library';
import {createElement} from 'react';
import {fitText} from '../../../../cli/dashboard/shell/fit-text.ts';
import {Lines} from '../../../../cli/dashboard/shell/lines.tsx';
import {hostileTexts} from '../../../helpers/cli/hostile-text.ts';

const width = 80;
const height = 50;

test('a line of the dashboard is drawn as it was made, however its characters join', t => {
  const texts = hostileTexts(2000, 3);

  for (let from = 0; from < texts.length; from += height) {
    // Two columns in a line, as in a table.
    const lines = texts
      .slice(from, from + height)
      .map((text, at) => `${fitText(text, 30)}  ${fitText(texts.at(-1 - at) ?? '', 46)}|`);
    const {lastFrame, unmount} = render(createElement(Lines, {lines, width, height}));

    t.deepEqual(lastFrame()?.split('\n'), lines);
    unmount();
  }
});
