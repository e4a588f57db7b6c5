// The routes of the public API, read from the router itself: what is added there is there.
import type Router from '@koa/router';
import {createApi} from '../../daemon/http/api/app.ts';

export interface ApiRoute {
  method: string;
  /** As the router has it, without the prefix: `/domains/:id`. */
  path: string;
}

const prefix = '/api/v1';

/** All but what a router adds by itself, such as HEAD to each GET. */
export const apiRoutes = (): ApiRoute[] =>
  apiLayers().flatMap(({methods, path}) =>
    methods.filter(method => method !== 'HEAD').map(method => ({method, path: String(path).slice(prefix.length)})),
  );

/** With services that must never be asked. */
export const apiLayers = (): Router['stack'] => {
  const nobody: unknown = new Proxy({}, {get: () => () => Promise.reject(new Error('a service was asked'))});
  const needs = new Proxy({deprecations: []}, {get: (known, name) => Reflect.get(known, name) ?? nobody});
  return createApi(needs as unknown as Parameters<typeof createApi>[0]).middleware.flatMap(part =>
    'router' in part ? (part.router as Router).stack : [],
  );
};
