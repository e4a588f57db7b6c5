import type {ApiKey} from '../../../../shared/api-key.ts';
import {countText, timeText} from '../../../output/cell-text.ts';
import {detailLines} from '../../shell/detail-lines.ts';
import {wrapText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';
import {conditionOf, endText, usedText} from './key-facts.ts';

export const keyPage = (key: ApiKey, {isOwn, nowMs, theme}: {isOwn: boolean; nowMs: number; theme: Theme}): Page => {
  const {text, tone} = conditionOf(key, nowMs);
  return {
    kind: 'page',
    title: `Key ${key.id}`,
    lines: width => [
      ...detailLines(
        [
          ['Name', key.name],
          ['ID', key.id],
          ['Begins with', key.key_prefix],
          ['Scope', key.scope],
          ['Domain', key.domain],
          ['Per minute', countText(key.rate_limit_per_minute)],
          ['State', text, tone],
          ['Last used', key.last_used_at === null ? 'never' : `${timeText(key.last_used_at)}, ${usedText(key, nowMs)}`],
          ['Expires', key.expires_at === null ? 'never' : `${timeText(key.expires_at)}, ${endText(key, nowMs)}`],
          ['Revoked', timeText(key.revoked_at)],
          ['Created', timeText(key.created_at)],
        ],
        width,
        theme,
      ),
      '',
      ...(isOwn ? ['This is the key in use here.'] : []),
      ...wrapText('The key itself is kept nowhere: a node keeps only its hash.', width),
    ],
  };
};
