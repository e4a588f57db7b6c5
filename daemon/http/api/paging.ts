import type {Page} from '../../../shared/hold-filter.ts';
import type {Ctx} from './state.ts';

/** Sets X-Total-Count and Link (RFC 8288); the links keep the filters of the request. */
export const setPaging = (ctx: Ctx, {limit, offset}: Page, total: number): void => {
  const link = (relation: string, to: number) => {
    const query = new URLSearchParams(ctx.querystring);
    query.set('limit', String(limit));
    query.set('offset', String(to));
    return `<${ctx.path}?${query}>; rel="${relation}"`;
  };
  const links = [link('first', 0)];
  if (offset > 0) links.push(link('prev', Math.max(0, offset - limit)));
  if (offset + limit < total) links.push(link('next', offset + limit));
  ctx.set({'X-Total-Count': String(total), Link: links.join(', ')});
};
