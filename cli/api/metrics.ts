import type {Command} from 'commander';
import {chosenContext} from '../client/connection.ts';
import {checkedMetricsUrl, defaultMetricsUrl, fetchMetrics} from '../client/metrics.ts';
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
      session.printer().text(await fetchMetrics(url, {log: session.log}));
    });
};

const metricsUrl = async ({terminal, flags, contexts}: Session, given: string | undefined): Promise<string> => {
  const asked = given ?? (terminal.env.MFCTL_METRICS_URL || undefined);
  return asked ?? (await chosenContext(terminal, flags(), contexts))?.metricsUrl ?? defaultMetricsUrl;
};
