import {createServer} from 'node:https';
import test, {type ExecutionContext} from 'ava';
import {readCertificateEnd} from '../../../../../cli/dashboard/screens/cluster/cluster-sources.ts';
import {formatHostPort} from '../../../../../shared/host-port.ts';
import {selfSigned} from '../../../../helpers/certificate.ts';
import {listening} from '../../../../helpers/listening.ts';
import {startMute} from '../../../../helpers/mute-server.ts';
import {closedPort} from '../../../../helpers/ports.ts';

const listen = async (t: ExecutionContext) => {
  const {key, cert} = await selfSigned('localhost');
  const requests: unknown[] = [];
  const server = createServer({key, cert}, request => void requests.push(request));
  return {url: `https://localhost:${await listening(t, server, {host: 'localhost'})}`, cert, requests};
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
  const mute = (await startMute(t)).replace('http:', 'https:');

  const closed = await readCertificateEnd(`https://${address}`, undefined);
  const silent = await readCertificateEnd(mute, undefined);
  const nonsense = await readCertificateEnd('http://localhost', undefined);

  t.deepEqual(
    [closed, silent, nonsense].map(({endsAtMs}) => endsAtMs),
    [undefined, undefined, undefined],
  );
  t.deepEqual([closed.problem, silent.problem], ['ECONNREFUSED', 'no answer in time']);
});
