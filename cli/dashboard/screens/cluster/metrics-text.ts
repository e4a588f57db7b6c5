// Metrics of a node that the dashboard shows.
import {get as getHttp} from 'node:http';
import {get as getHttps} from 'node:https';
import {trusting} from '../../../client/trust.ts';
import {CliError} from '../../../errors.ts';

export interface NodeMetrics {
  /** Since the start of the node. */
  verdicts: Readonly<Record<string, number>>;
  version: string | undefined;
}

const deadlineMs = 3000;
const maxBytes = 4 * 1024 * 1024;

export const readMetrics = async (url: URL, ca: string | undefined): Promise<NodeMetrics> => parseMetrics(await read(url, ca));

export const parseMetrics = (text: string): NodeMetrics => {
  const verdicts = [...text.matchAll(/^mfd_intake_verdicts_total\{verdict="(\w+)"\} (\d+)/gm)];
  return {
    verdicts: Object.fromEntries(verdicts.map(([, verdict = '', count]) => [verdict, Number(count)])),
    version: /^mfd_build_info\{version="([^"]*)"/m.exec(text)?.[1],
  };
};

const read = (url: URL, ca: string | undefined): Promise<string> =>
  new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new CliError('metrics', `${url.origin} tells no metrics: ${why}`));
    const options = {signal: AbortSignal.timeout(deadlineMs), ...(url.protocol === 'https:' && trusting(ca))};
    const request = (url.protocol === 'https:' ? getHttps : getHttp)(url, options, response => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', ({message}) => fail(message));
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) request.destroy(new Error('too much of it'));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'));
        else fail(`status ${response.statusCode}`);
      });
    });
    request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
  });
