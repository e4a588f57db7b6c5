import {usageError} from '../errors.ts';

/** Where a node serves its metrics unless it was told otherwise. */
export const defaultMetricsUrl = 'http://127.0.0.1:9090';

/** The address of `/metrics`, which may have been left out. */
export const checkedMetricsUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw usageError(`${JSON.stringify(text)} is no address of a metrics listener`, `it looks like ${defaultMetricsUrl}`);
  if (url.pathname === '/') url.pathname = '/metrics';
  return url;
};
