// Layout of the quarantine screen: the areas of the list and of the preview.
import type {Size} from '../../shell/shell.ts';
import type {PreviewMode} from './screen-state.ts';

export interface Layout {
  kind: 'list' | 'beside' | 'below' | 'full';
  /** The table without its header. */
  list: Size;
  preview: Size;
}

/** The bar and the notices. */
const barRows = 2;
const headerRows = 1;
const besideFrom = 120;
const separatorWidth = 3;

export const layoutOf = (size: Size, mode: PreviewMode): Layout => {
  const {columns, rows} = size;
  const below = Math.max(0, rows - barRows);
  const nothing: Size = {columns: 0, rows: 0};
  const whole: Size = {columns, rows: Math.max(1, below - headerRows)};
  // A question needs the space more than the preview.
  if (mode === 'off' || below < 8) return {kind: 'list', list: whole, preview: nothing};
  if (mode === 'full') return {kind: 'full', list: whole, preview: {columns, rows: below}};
  if (columns >= besideFrom) {
    const width = Math.floor((columns - separatorWidth) * 0.55);
    return {
      kind: 'beside',
      list: {columns: width, rows: whole.rows},
      preview: {columns: columns - separatorWidth - width, rows: below},
    };
  }
  const listRows = Math.max(3, Math.floor((below - headerRows - 1) * 0.4));
  return {
    kind: 'below',
    list: {columns, rows: listRows},
    preview: {columns, rows: below - headerRows - listRows - 1},
  };
};
