import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import {pagesFault} from '../../../daemon/http/recipients/page-check.ts';

/** A web server that answers every request like this. */
const serve = async (t: ExecutionContext, status: number, headers: Record<string, string> = {}): Promise<string> => {
  const server = createServer((_request, response) => response.writeHead(status, headers).end());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('an address leads to the pages when it answers as they do', async t => {
  const url = await serve(t, 404, {'Referrer-Policy': 'no-referrer'});
  t.is(await pagesFault(url), undefined);
});

test('another site, and a proxy that has nobody behind it, are told with their status', async t => {
  for (const status of [200, 302, 404, 502])
    t.regex((await pagesFault(await serve(t, status))) ?? '', new RegExp(`answers ${status}, which`));
  t.regex((await pagesFault(await serve(t, 200, {'Referrer-Policy': 'no-referrer'}))) ?? '', /answers 200/);
});

test('an address where nobody listens is told', async t => {
  t.regex((await pagesFault('http://127.0.0.1:1')) ?? '', /ECONNREFUSED/);
});
