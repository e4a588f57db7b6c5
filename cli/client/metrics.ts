// Metrics of a node, from its metrics listener.
import {CliError, usageError} from '../errors.ts';
import {answerFailure, connectionFailure} from './request-failure.ts';
import {trusting} from './trust.ts';

/** The default address of a node's metrics listener. */
export const defaultMetricsUrl = 'http://127.0.0.1:9090';

/** The address of `/metrics`; the path may be left out. */
export const checkedMetricsUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw usageError(`${JSON.stringify(text)} is no address of a metrics listener`, `it looks like ${defaultMetricsUrl}`);
  if (url.pathname === '/') url.pathname = '/metrics';
  return url;
};

/** The text of a metrics listener, which takes no key and has no envelope. Rejects with a CliError for everything but success. */
export const fetchMetrics = async (url: URL, log: (line: string) => void): Promise<Buffer> => {
  const {got} = await import('got');
  const {ca} = url.protocol === 'https:' ? trusting(undefined) : {};
  const options = {
    retry: {limit: 0},
    followRedirect: false,
    throwHttpErrors: false,
    responseType: 'buffer',
    https: {...(ca !== undefined && {certificateAuthority: ca})},
  } as const;
  const {
    statusCode: status,
    headers,
    body,
  } = await got(url, {...options, timeout: {connect: 5000, response: 30_000}}).catch(error => {
    const {code, detail, exitCode} = connectionFailure(error, url);
    throw new CliError(code, detail, {exitCode, cause: error, hint: 'name the metrics listener: --metrics-url http://HOST:9090'});
  });
  log(`GET ${url.href} ${status}`);
  if (status !== 200) throw answerFailure({status, headers, body, url});
  return body;
};
