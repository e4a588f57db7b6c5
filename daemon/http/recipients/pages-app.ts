// Pages for recipients: what a link of a digest leads to. GET, HEAD and OPTIONS change nothing.
import type {IncomingMessage} from 'node:http';
import {isIP} from 'node:net';
import Koa from 'koa';
import type {Logger} from 'pino';
import {digestLanguages} from '../../../shared/digest-rules.ts';
import {Fault} from '../../../shared/fault.ts';
import {clientNetwork, isLoopback, plainAddress} from '../../../shared/host-port.ts';
import {type LinkAction, type LinkView, linkActions} from '../../services/recipients/link-owner.ts';
import {nodeNoIn} from '../../services/recipients/link-token.ts';
import type {Links} from '../../services/recipients/links.ts';
import {remoteAddressOf} from '../observe.ts';
import {createMinuteLimit} from './minute-limit.ts';
import {type Failure, formField, linkPage, type Message, messagePage, offeredAction, pageHeaders} from './page.ts';

interface Needs {
  links: Links;
  /** Whether the client behind this address is named in `X-Forwarded-For`. */
  isProxy(address: string): boolean;
  /** Whether this node was removed from the cluster: it does not learn any more what its mail may be released for. */
  isRemoved(): boolean;
  /** The client of the request has shown a good link: it is no stranger. */
  noteLinkShown(request: IncomingMessage): void;
  onAnswer(status: number): void;
  log: Logger;
}

/** For each minute: of a network, requests of what is no link; of a link, all. A digest has a hundred links, and scanners open them all. */
const limits = {misses: 60, link: 30};
/** Of requests for links of one node: each may wait for that node. */
const mostAtOnce = {all: 400, network: 100};
const below = '/m/';
const formLimits = {bytes: 1000, ms: 5000};

interface Asked {
  token: string;
  /** The node in the token. */
  nodeNo: number;
  address: string;
  /** What a form asks for; undefined for a request without one. */
  action: LinkAction | undefined;
}

export const createPagesApp = ({isProxy, isRemoved, onAnswer, log, ...needs}: Needs): Koa => {
  const app = new Koa();
  const [misses, ofLinks] = [createMinuteLimit(limits.misses), createMinuteLimit(limits.link)];
  const underWay = createPlaces();
  const clientOf = createClientOf({isProxy, log});

  const answerAsked = async (ctx: Koa.Context, {network, ...asked}: Omit<Asked, 'action'> & {network: string}): Promise<void> => {
    // Before it takes a place: a form may come slowly.
    const action = ctx.method === 'POST' ? await ownForm(ctx) : undefined;
    if (ctx.method === 'POST' && !action) return say(ctx, 400, 'wrong');
    const leave = underWay.take(asked.nodeNo, network);
    if (!leave) return sayTooMany(ctx);
    try {
      await (isRemoved() ? say(ctx, 503, 'away') : answer(ctx, needs, {...asked, action}));
    } finally {
      leave();
    }
  };

  const answerLink = async (ctx: Koa.Context, asked: Omit<Asked, 'action'>): Promise<void> => {
    const {token} = asked;
    const network = clientNetwork(asked.address);
    if (misses.isFull(network) || ofLinks.isFull(token)) return sayTooMany(ctx);
    ofLinks.count(token);
    await answerAsked(ctx, {...asked, network});
    // After the answer, so that links opened at the same time do not count as guesses. Those are as many as may be under way at once.
    if (ctx.status === 404) misses.count(network);
  };

  app.use(async ctx => {
    // A page is one request, and connections are few: anybody may open them.
    ctx.res.shouldKeepAlive = false;
    ctx.set({'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff'});
    if (!ctx.path.startsWith(below)) {
      ctx.status = 404;
      ctx.type = 'text/plain';
      ctx.body = 'Not found\n';
      return;
    }
    ctx.set(pageHeaders);
    const token = ctx.path.slice(below.length);
    const nodeNo = nodeNoIn(token);
    if (nodeNo === undefined) return say(ctx, 404, 'unknown');
    ctx.res.once('finish', () => onAnswer(ctx.res.statusCode));
    try {
      await answerLink(ctx, {token, nodeNo, address: clientOf(ctx)});
    } catch (error) {
      if (!(error instanceof Fault)) log.error({err: error}, 'a page for a recipient failed');
      say(ctx, 503, 'away');
    }
  });
  app.on('error', error => log.debug({err: error as Error}, 'a request for a page failed'));
  return app;
};

/** Of requests under way, by the node of their links, so that one node that hangs takes no place from links to others. */
const createPlaces = () => {
  const counts = new Map<string, number>();
  const add = (key: string, change: 1 | -1): void => {
    const count = (counts.get(key) ?? 0) + change;
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
  };
  return {
    /** The function that gives the place back; undefined when there is none. */
    take(nodeNo: number, network: string): (() => void) | undefined {
      const [ofAll, ofNetwork] = [String(nodeNo), `${nodeNo} ${network}`];
      const isFull = (key: string, most: number) => (counts.get(key) ?? 0) >= most;
      if (isFull(ofAll, mostAtOnce.all) || isFull(ofNetwork, mostAtOnce.network)) return undefined;
      for (const key of [ofAll, ofNetwork]) add(key, 1);
      return () => {
        for (const key of [ofAll, ofNetwork]) add(key, -1);
      };
    },
  };
};

type Answering = Pick<Needs, 'links' | 'noteLinkShown'>;

const answer = async (ctx: Koa.Context, {links, noteLinkShown}: Answering, {action, ...asked}: Asked): Promise<void> => {
  if (!action && ctx.method !== 'GET' && ctx.method !== 'HEAD') {
    ctx.set('Allow', 'GET, HEAD, POST');
    ctx.status = ctx.method === 'OPTIONS' ? 204 : 405;
    ctx.body = '';
    return;
  }
  const view = await links.view(asked.token);
  if (!view) return say(ctx, 404, 'unknown');
  // Before a delivery, which takes seconds.
  noteLinkShown(ctx.req);
  if (action) await answerForm(ctx, links, {...asked, action, view});
  else ctx.body = linkPage(view);
};

const answerForm = async (
  ctx: Koa.Context,
  links: Links,
  {token, address, action, view}: Asked & {action: LinkAction; view: LinkView},
): Promise<void> => {
  try {
    if (!(await links.act(token, action, address))) return say(ctx, 404, 'unknown');
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // A node that ended while it delivered does not answer now. The page has the mail as it was, and what is known of the delivery.
    const after = await links.view(token).catch((again: unknown) => (again instanceof Fault ? view : Promise.reject(again)));
    // Otherwise the request was recorded, or something else was done meanwhile, and the page says so.
    if (after && offeredAction(after) === action) {
      ctx.status = 503;
      ctx.body = linkPage(after, failureOf(error, action));
      return;
    }
  }
  // A page that is loaded again then asks for nothing again. Relative, as a proxy may have the pages below a path of its own.
  ctx.status = 303;
  ctx.set('Location', token);
  ctx.body = '';
};

const failureOf = ({code, details: {fields = []}}: Fault, action: LinkAction): Failure => {
  if (action === 'request') return 'notRequested';
  if (code === 'outcome_unknown') return 'underWay';
  const isRefused = code === 'delivery_failed' && fields.length > 0 && fields.every(({detail}) => /^5\d\d /.test(detail));
  return isRefused ? 'refused' : 'notDelivered';
};

const sayTooMany = (ctx: Koa.Context): void => {
  ctx.set('Retry-After', '60');
  say(ctx, 429, 'tooMany');
};

/** In the language of the browser, as nothing says which one the recipient has. */
const say = (ctx: Koa.Context, status: number, what: Message): void => {
  const language = digestLanguages.find(one => one === ctx.acceptsLanguages([...digestLanguages])) ?? 'en';
  ctx.status = status;
  ctx.body = messagePage(language, what, {hasLink: status !== 404});
};

const createClientOf = ({isProxy, log}: Pick<Needs, 'isProxy' | 'log'>) => {
  let isTold = false;
  return (ctx: Koa.Context): string => {
    const address = remoteAddressOf(ctx.req) ?? '';
    const named = ctx.get('X-Forwarded-For').split(',').at(-1)?.trim() ?? '';
    if (isIP(named) === 0) return address;
    if (isProxy(address)) return plainAddress(named);
    // Anybody may send the header; from this host, a proxy does.
    if (isLoopback(address) && !isTold) {
      isTold = true;
      log.warn(
        {proxy: address},
        'a proxy of the pages for recipients is not in recipients.proxies: all its clients count as one',
      );
    }
    return address;
  };
};

/** What the form of the page itself asks for, sent by its button. */
const ownForm = async (ctx: Koa.Context): Promise<LinkAction | undefined> => {
  const site = ctx.get('Sec-Fetch-Site');
  if (site !== '' && site !== 'same-origin') return undefined;
  // With `Referrer-Policy: no-referrer` browsers send `null` for the page itself. A proxy may have changed the host.
  const origin = ctx.get('Origin');
  const isOther = URL.canParse(origin) && new URL(origin).host !== ctx.host;
  if (site === '' && isOther) return undefined;
  if (!ctx.is('application/x-www-form-urlencoded')) return undefined;
  const [asked, ...more] = new URLSearchParams(await bodyOf(ctx.req)).getAll(formField);
  return more.length > 0 ? undefined : linkActions.find(action => action === asked);
};

/** Empty when it is larger than any form of these pages, or does not come in time. It is read to its end, so that the answer arrives. */
const bodyOf = async (request: IncomingMessage): Promise<string> =>
  new Promise(resolve => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => resolve(''), formLimits.ms);
    const end = (text: string) => {
      clearTimeout(timer);
      resolve(text);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= formLimits.bytes) chunks.push(chunk);
    });
    request.on('end', () => end(size <= formLimits.bytes ? Buffer.concat(chunks).toString('latin1') : ''));
    for (const event of ['close', 'error']) request.on(event, () => end(''));
  });
