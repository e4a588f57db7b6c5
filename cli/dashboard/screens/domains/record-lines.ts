// DNS record of a DKIM key, to be copied with the mouse: in the form of a zone file, which may be split over lines.
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import {safeLine} from '../../../../shared/safe-text.ts';
import {timeText} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import type {Theme} from '../../shell/theme.ts';

/** A string holds 255 bytes at most, resolvers join them, and parentheses continue the record on the next line (RFC 1035, 5.1). */
export const zoneBlock = ({dns_name, dns_record}: Pick<DkimKey, 'dns_name' | 'dns_record'>, width: number): string[] => {
  const available = Math.max(1, Math.min(255, width - 4));
  const strings: string[] = [''];
  for (const char of safeLine(dns_record)) {
    const escaped = /["\\]/.test(char) ? `\\${char}` : char;
    const last = strings.at(-1) ?? '';
    if (displayWidth(last + escaped) > available) strings.push(escaped);
    else strings[strings.length - 1] = last + escaped;
  }
  return [`${safeLine(dns_name)}. IN TXT (`, ...strings.map(text => `  "${text}"`), ')'];
};

/** Without indentation, so that the copied text is the record alone. */
export const recordLines = (key: DkimKey, domain: string, {size, theme}: {size: Size; theme: Theme}): string[] => {
  const {columns: width, rows} = size;
  const record = zoneBlock(key, width);
  const isCut = record.some(line => displayWidth(line) > width);
  const hint = (text: string): string[] => wrapText(text, width).map(line => theme(line, 'dim'));
  return [
    theme(
      fitText(`DKIM key ${key.selector} of ${domain} · ${key.algorithm} · made ${timeText(key.created_at) ?? ''}`, width),
      'bold',
    ),
    ...hint('Publish this in the zone; then switch DKIM on (e in the domain), and mail is signed with it.'),
    '',
    ...record.map(line => fitText(line, width).trimEnd()),
    '',
    ...(isCut ? [theme(fitText('The window is too narrow for all of it: y copies it whole.', width), 'warn')] : []),
    ...hint('y copies it as one line of a zone file, v the value alone, for a form that asks for one.'),
  ].slice(0, rows);
};
