// Routes of the public API, read from the router itself, so that a new route is included at once.
import type Router from '@koa/router';
import {createApi} from '../../daemon/http/api/app.ts';

export interface ApiRoute {
  method: string;
  /** As the router has it, without the prefix: `/domains/:id`. */
  path: string;
}

const prefix = '/api/v1';

/** All but the routes that the router adds by itself, such as HEAD for each GET. */
export const apiRoutes = (): ApiRoute[] =>
  apiLayers().flatMap(({methods, path}) =>
    methods.filter(method => method !== 'HEAD').map(method => ({method, path: String(path).slice(prefix.length)})),
  );

/** Its services must never be called. */
export const apiLayers = (): Router['stack'] => {
  const nobody: unknown = new Proxy({}, {get: () => () => Promise.reject(new Error('a service was asked'))});
  const needs = new Proxy({}, {get: () => nobody});
  return createApi(needs as unknown as Parameters<typeof createApi>[0]).middleware.flatMap(part =>
    'router' in part ? (part.router as Router).stack : [],
  );
};
