// Sparkline: numbers over time in one line of cells.

const steps = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/**
 * The last `width` values, oldest first, padded with spaces on the left. 0 is a dot, so that a
 * single mail differs from none; an unknown value is a space.
 */
export const sparkline = (values: readonly (number | undefined)[], width: number): string => {
  const shown = width > 0 ? values.slice(-width) : [];
  const most = Math.max(...shown.map(value => value ?? 0), 0);
  const cells = shown.map(value => {
    if (value === undefined) return ' ';
    if (value <= 0 || most === 0) return '·';
    return steps[Math.min(steps.length - 1, Math.ceil((value / most) * steps.length) - 1)] ?? ' ';
  });
  return ' '.repeat(Math.max(0, width - cells.length)) + cells.join('');
};

/** A part of the whole in `width` cells; a positive value is never drawn as empty. */
export const bar = (value: number, most: number, width: number): string => {
  const cells = most <= 0 ? 0 : Math.round((value / most) * width);
  return '█'.repeat(Math.max(0, Math.min(width, value > 0 ? Math.max(1, cells) : 0))).padEnd(width);
};
