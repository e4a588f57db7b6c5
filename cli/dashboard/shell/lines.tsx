import {createElement, type ReactElement} from 'react';

interface LinesProps {
  /** Each of exactly `width` cells, or fewer; styles are SGR sequences. */
  lines: readonly string[];
  width: number;
  height: number;
}

/**
 * Lines as they are. Their size is given, so that ink 6.8 neither measures nor wraps them: it remembers every text it ever measured,
 * which a screen that is left open for weeks must not do. test/cli/dashboard/shell/memory.test.ts notices when `<Text>` forgets.
 */
export const Lines = ({lines, width, height}: LinesProps): ReactElement => {
  const text = Array.from({length: height}, (_, at) => lines[at] ?? '').join('\n');
  return createElement('ink-text', {style: {width, height, flexShrink: 0, textWrap: 'truncate'}}, text);
};
