import type {Command} from 'commander';
import {chosenContext} from '../connection.ts';
import {checkedMetricsUrl, defaultMetricsUrl} from '../metrics-address.ts';
import {answerFailure, connectionFailure} from '../request-failure.ts';
import type {Session} from '../session.ts';

export const addMetricsCommand = (program: Command, session: Session): void => {
  program
    .command('metrics')
    .description('print the metrics of a node, as Prometheus reads them')
    .option(
      '--metrics-url <url>',
      `address of the metrics listener (MFCTL_METRICS_URL, else the context's, else ${defaultMetricsUrl})`,
    )
    .addHelpText('after', '\nExample:\n  mfctl metrics | grep mfd_cluster')
    .action(async (flags: {metricsUrl?: string}) => {
      const url = checkedMetricsUrl(await metricsUrl(session, flags.metricsUrl));
      session.printer().text((await fetchText(url)).toString('utf8'));
    });
};

const metricsUrl = async ({terminal, flags, contexts}: Session, given: string | undefined): Promise<string> => {
  const asked = given ?? (terminal.env.MFCTL_METRICS_URL || undefined);
  return asked ?? (await chosenContext(terminal, flags(), contexts))?.metricsUrl ?? defaultMetricsUrl;
};

/** A listener of its own, with neither key nor envelope. */
const fetchText = async (url: URL): Promise<Buffer> => {
  const {got} = await import('got');
  const options = {retry: {limit: 0}, followRedirect: false, throwHttpErrors: false, responseType: 'buffer'} as const;
  const {
    statusCode: status,
    headers,
    body,
  } = await got(url, {...options, timeout: {connect: 5000, response: 30_000}}).catch(error => {
    throw connectionFailure(error, url);
  });
  if (status !== 200) throw answerFailure({status, headers, body, url});
  return body;
};
