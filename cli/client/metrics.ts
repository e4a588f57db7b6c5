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
    throw usageError(`${JSON.stringify(text)} is not the address of a metrics listener`, `it looks like ${defaultMetricsUrl}`);
  if (url.pathname === '/') url.pathname = '/metrics';
  return url;
};

/** More than a node ever has to say, and little memory for a computer. */
const maxBytes = 16 * 1024 * 1024;

interface MetricsRequest {
  /** PEM; trusted in place of what Node trusts. */
  ca?: string | undefined;
  /** For the whole answer. */
  withinMs?: number;
  log?(line: string): void;
}

/** The text of a metrics listener, which takes no key and has no envelope. Rejects with a CliError for everything but success. */
export const fetchMetrics = async (url: URL, {ca, withinMs = 30_000, log = () => {}}: MetricsRequest = {}): Promise<string> => {
  const {got} = await import('got');
  const trusted = url.protocol === 'https:' ? trusting(ca).ca : undefined;
  const request = got(url, {
    retry: {limit: 0},
    followRedirect: false,
    throwHttpErrors: false,
    responseType: 'buffer',
    timeout: {connect: 5000, request: withinMs},
    https: {...(trusted !== undefined && {certificateAuthority: trusted})},
  });
  void request.on('downloadProgress', ({transferred}) => {
    if (transferred > maxBytes) request.cancel(`more than ${maxBytes / 1024 / 1024} MiB`);
  });
  const {
    statusCode: status,
    headers,
    body,
  } = await request.catch(error => {
    const {code, detail, exitCode} = connectionFailure(error, url);
    throw new CliError(code, detail, {exitCode, cause: error, hint: 'name the metrics listener: --metrics-url http://HOST:9090'});
  });
  log(`GET ${url.href} ${status}`);
  if (status !== 200) throw answerFailure({status, headers, body, url});
  return body.toString('utf8');
};
