import type {Command} from 'commander';
import {chosenContext} from '../client/connection.ts';
import {checkedMetricsUrl, defaultMetricsUrl} from '../client/metrics-address.ts';
import {answerFailure, connectionFailure} from '../client/request-failure.ts';
import {trusting} from '../client/trust.ts';
import {CliError} from '../errors.ts';
import type {Session} from '../session.ts';

export const addMetricsCommand = (program: Command, session: Session): void => {
  program
    .command('metrics')
    .description('print the metrics of a node, as Prometheus reads them')
    .option(
      '--metrics-url <url>',
      `address of the metrics listener (MFCTL_METRICS_URL, else the context's, else ${defaultMetricsUrl})`,
    )
    .addHelpText('after', '\n-o changes nothing here.\n\nExample:\n  mfctl metrics | grep mfd_cluster')
    .action(async (flags: {metricsUrl?: string}) => {
      const url = checkedMetricsUrl(await metricsUrl(session, flags.metricsUrl));
      session.printer().text((await fetchText(url, session.log)).toString('utf8'));
    });
};

const metricsUrl = async ({terminal, flags, contexts}: Session, given: string | undefined): Promise<string> => {
  const asked = given ?? (terminal.env.MFCTL_METRICS_URL || undefined);
  return asked ?? (await chosenContext(terminal, flags(), contexts))?.metricsUrl ?? defaultMetricsUrl;
};

/** A listener of its own, with neither key nor envelope. */
const fetchText = async (url: URL, log: (line: string) => void): Promise<Buffer> => {
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
