import {createServer} from 'node:https';
import test, {type ExecutionContext} from 'ava';
import {pagesFault} from '../../../daemon/http/recipients/page-check.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {listening} from '../../helpers/listening.ts';
import {closedPort} from '../../helpers/ports.ts';

const asPages = {status: 404, headers: {'Referrer-Policy': 'no-referrer'}};

interface Site {
  status: number;
  headers?: Record<string, string>;
  certificate?: {key: string; cert: string};
}

/** A web server at https://localhost that answers every request like this. */
const serve = async (t: ExecutionContext, {status, headers = {}, certificate}: Site): Promise<string> => {
  const tls = certificate ?? (await selfSigned('localhost'));
  const server = createServer(tls, (_request, response) => response.writeHead(status, headers).end());
  return `https://localhost:${await listening(t, server)}`;
};

test('an address leads to the pages when it answers as they do, whoever signed its certificate', async t => {
  t.is(await pagesFault(await serve(t, asPages)), undefined);
});

test('another site, and a proxy that has nobody behind it, are told with their status', async t => {
  for (const status of [200, 302, 404, 502])
    t.regex((await pagesFault(await serve(t, {status}))) ?? '', new RegExp(`answers ${status}, which`));
  t.regex((await pagesFault(await serve(t, {...asPages, status: 200}))) ?? '', /answers 200/);
});

test('a certificate that has expired, or is for another name, is told', async t => {
  const expired = await selfSigned('localhost', new Date(Date.now() - 1000));
  const other = await selfSigned('mail.example.com');

  t.is(await pagesFault(await serve(t, {...asPages, certificate: expired})), 'its certificate has expired');
  t.is(await pagesFault(await serve(t, {...asPages, certificate: other})), 'its certificate is for another name');
});

test('an address where nobody listens is told', async t => {
  const {port} = await closedPort();

  t.is(await pagesFault(`https://localhost:${port}`), `https://localhost:${port}: nothing listens there`);
});
