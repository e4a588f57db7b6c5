// Commands of the API as it is: any request, the metrics of a node, the description.

import {readFile} from 'node:fs/promises';
import {type Command, InvalidArgumentError} from 'commander';
import {hasOwn} from '../../shared/has-own.ts';
import {jsonIn} from '../../shared/json-in.ts';
import type {Method} from '../client/client.ts';
import {chosenContext} from '../client/connection.ts';
import {checkedMetricsUrl, defaultMetricsUrl, fetchMetrics} from '../client/metrics.ts';
import {readStdin} from '../command-line/terminal.ts';
import {usageError} from '../errors.ts';
import {fileFailure} from '../files/text-file.ts';
import type {Session} from '../session.ts';

export const addApiCommand = (program: Command, session: Session): void => {
  program
    .command('api')
    .description('send any request to the API and print the data of its answer')
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE', method)
    .argument('<path>', 'below /api/v1, such as /domains')
    .option('--data <json>', 'the body: JSON, @FILE, or - for standard input')
    .addHelpText('after', apiHelp)
    .action(async (verb: Method, path: string, {data}: {data?: string}) => {
      const printer = session.printer();
      if (printer.format === 'name')
        throw usageError('api does not know how to name what a request answers', 'use another format');
      const body = data === undefined ? undefined : await bodyOf(data, session);
      const client = await session.client();
      const answer = await client.request(verb, path, body);
      // Whatever its content type says.
      const json = answer.contentType.startsWith('application/json') ? jsonIn(answer.body.toString('utf8')) : undefined;
      if (json !== undefined) printer.value(dataOf(json));
      else if (session.terminal.stdout.isTTY) printer.text(answer.body.toString('utf8'));
      else printer.bytes(answer.body);
    });
};

const apiHelp = `
The data of an answer is printed as JSON; -o ndjson, yaml and csv print it in their way. Other answers are printed as they are.

Examples:
  mfctl api GET '/mail/quarantine?limit=5'
  mfctl api PUT /domains/1000000001 --data '{"quarantine_threshold": 4}'`;

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const method = (text: string): Method => {
  const found = methods.find(name => name === text.toUpperCase());
  if (found === undefined) throw new InvalidArgumentError(`Must be one of ${methods.join(', ')}.`);
  return found;
};

const bodyOf = async (data: string, session: Session): Promise<string> => {
  if (data === '-') return readStdin(session.terminal);
  if (!data.startsWith('@')) return data;
  const file = data.slice(1);
  return readFile(file, 'utf8').catch(error => {
    throw fileFailure(file, error, 'read');
  });
};

const dataOf = (json: unknown): unknown => (typeof json === 'object' && json !== null && hasOwn(json, 'data') ? json.data : json);

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

export const addOpenapiCommand = (program: Command, session: Session): void => {
  program
    .command('openapi')
    .description('print the description of the API, OpenAPI 3.1 in YAML; with -o json in JSON')
    .option('--admin', 'every operation, not only those that are stable for other clients')
    .addHelpText('after', '\nExamples:\n  mfctl openapi\n  mfctl openapi --admin > openapi-admin.yaml')
    .action(async ({admin}: {admin?: boolean}) => {
      const client = await session.client();
      const {body} = await client.openapi(admin ?? false);
      const printer = session.printer();
      const text = body.toString('utf8');
      if (printer.format === 'json') printer.value((await import('yaml')).parse(text));
      else printer.text(text);
    });
};
