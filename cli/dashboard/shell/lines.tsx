import {createElement, type ReactElement} from 'react';

interface LinesProps {
  /** Each of exactly `width` cells, or fewer; styles are SGR sequences. */
  lines: readonly string[];
  width: number;
  height: number;
}

/**
 * Lines of given size, so that ink 6.8 neither measures nor wraps them: it remembers every text it ever measured,
 * which leaks memory in a dashboard that is left open for weeks. test/cli/dashboard/shell/memory.test.ts notices when `<Text>` forgets.
 */
export const Lines = ({lines, width, height}: LinesProps): ReactElement => {
  const text = Array.from({length: height}, (_, at) => lines[at] ?? '').join('\n');
  return createElement('ink-text', {style: {width, height, flexShrink: 0, textWrap: 'truncate'}}, text);
};
