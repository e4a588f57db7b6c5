import {createServer} from 'node:https';
import {type AddressInfo, createServer as createTcpServer} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import {readCertificateEnd} from '../../../../../cli/dashboard/screens/cluster/certificate-end.ts';
import {formatHostPort} from '../../../../../shared/host-port.ts';
import {selfSigned} from '../../../../helpers/certificate.ts';
import {closedPort} from '../../../../helpers/ports.ts';

const listen = async (t: ExecutionContext) => {
  const {key, cert} = await selfSigned('localhost');
  const requests: unknown[] = [];
  const server = createServer({key, cert}, request => void requests.push(request));
  await new Promise<void>(resolve => server.listen(0, 'localhost', resolve));
  t.teardown(() => server.close());
  return {url: `https://localhost:${(server.address() as AddressInfo).port}`, cert, requests};
};

test('the end of a certificate is read by a handshake alone', async t => {
  const {url, cert, requests} = await listen(t);

  const {endsAtMs, problem} = await readCertificateEnd(url, cert);

  t.is(problem, undefined);
  t.true((endsAtMs ?? 0) > Date.now());
  t.deepEqual(requests, []);
});

test('a certificate that nobody trusts is named so', async t => {
  const {url} = await listen(t);
  const {cert: another} = await selfSigned('localhost');

  const {problem} = await readCertificateEnd(url, another);

  t.regex(problem ?? '', /SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/);
});

test('what cannot be read is a reason, and never an error', async t => {
  const address = formatHostPort(await closedPort());
  const mute = createTcpServer(() => undefined);
  await new Promise<void>(resolve => mute.listen(0, '127.0.0.1', resolve));
  t.teardown(() => mute.close());

  const closed = await readCertificateEnd(`https://${address}`, undefined);
  const silent = await readCertificateEnd(`https://127.0.0.1:${(mute.address() as AddressInfo).port}`, undefined);
  const nonsense = await readCertificateEnd('http://localhost', undefined);

  t.deepEqual(
    [closed, silent, nonsense].map(({endsAtMs}) => endsAtMs),
    [undefined, undefined, undefined],
  );
  t.deepEqual([closed.problem, silent.problem], ['ECONNREFUSED', 'no answer in time']);
});
