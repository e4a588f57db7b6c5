import type Router from '@koa/router';
import {dnsQuerySchema} from '../../../shared/hold-filter.ts';
import type {DnsView} from '../../services/dns/domain-dns.ts';
import {reply} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {idOf, queryOf} from '../request-input.ts';
import {needs} from './guard.ts';

export const routeDns = (router: Router<RequestState>, dns: DnsView): void => {
  router.get('/domains/:id/dns', needs('domains:read'), async ctx => {
    const {check} = queryOf(ctx, dnsQuerySchema);
    reply(ctx, await dns.of(ctx.state.actor, idOf(ctx), {isChecked: check}));
  });
};
