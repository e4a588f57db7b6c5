// Route of an answered request, for metrics and deprecations.

/** The pattern of the path, such as `/api/v1/domains/:id`; undefined when no route matched. The router declares it without a document. */
export const matchedRoute = (ctx: object): string | undefined => {
  const {_matchedRoute: route} = ctx as {_matchedRoute?: unknown};
  return typeof route === 'string' ? route : undefined;
};

/** For a request that is answered without the router. */
export const setMatchedRoute = (ctx: object, route: string): void => void Object.assign(ctx, {_matchedRoute: route});
