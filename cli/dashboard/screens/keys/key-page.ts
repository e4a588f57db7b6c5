import type {ApiKey} from '../../../../shared/api-key.ts';
import {countText, timeText} from '../../../output/cell-text.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';
import {conditionOf, endText, usedText} from './key-facts.ts';

export const keyPage = (key: ApiKey, {isOwn, nowMs, theme}: {isOwn: boolean; nowMs: number; theme: Theme}): Page => {
  const {text, tone} = conditionOf(key, nowMs);
  const facts = [
    ['Name', key.name],
    ['ID', String(key.id)],
    ['Begins with', key.key_prefix],
    ['Scope', key.scope],
    ['Domain', key.domain ?? '-'],
    ['Per minute', countText(key.rate_limit_per_minute)],
    ['State', text],
    ['Last used', key.last_used_at === null ? 'never' : `${timeText(key.last_used_at)}, ${usedText(key, nowMs)}`],
    ['Expires', key.expires_at === null ? 'never' : `${timeText(key.expires_at)}, ${endText(key, nowMs)}`],
    ['Revoked', timeText(key.revoked_at) ?? '-'],
    ['Created', timeText(key.created_at) ?? '-'],
  ] as const;
  return {
    kind: 'page',
    title: `Key ${key.id}`,
    lines: width => [
      ...facts.flatMap(([label, value]) =>
        wrapText(value, width - 14).map(
          (line, at) =>
            `${theme(fitText(at === 0 ? label : '', 12), 'dim')}  ${theme(line, label === 'State' ? tone : undefined)}`,
        ),
      ),
      '',
      ...(isOwn ? ['This is the key in use here.'] : []),
      ...wrapText('The key itself is kept nowhere: a node keeps only its hash.', width),
    ],
  };
};
