import {readFile} from 'node:fs/promises';
import {request} from 'node:https';
import {join} from 'node:path';
import test from 'ava';
import {createAuthority, issueLeaf} from '../../daemon/cluster/certificates.ts';
import {identityUris} from '../../daemon/cluster/peer-identity.ts';
import {startNode, type TestNode} from '../helpers/node.ts';

interface Pair {
  key?: string;
  cert?: string;
}

const ask = async (node: TestNode, {key, cert}: Pair): Promise<{status: number; body: string}> => {
  const ca = await readFile(node.ca_file, 'utf8');
  return new Promise((resolve, reject) => {
    const options = {ca, agent: false as const, ...(key && {key}), ...(cert && {cert})};
    const sent = request(`${node.cluster_url}/peer/v1/digests`, options, response => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => resolve({status: response.statusCode ?? 0, body}));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
};

const fileOf = async (node: TestNode, name: string) => readFile(join(node.data, 'tls', name), 'utf8');

test('the cluster port answers a node certificate of its own CA and breaks off every other handshake', async t => {
  const node = await startNode(t);
  const stranger = await createAuthority(Date.now());
  const forged = await issueLeaf(
    stranger,
    {commonName: 'x', hosts: ['localhost'], uris: identityUris({nodeId: node.node_id, nodeNo: 1})},
    Date.now(),
  );

  const own = await ask(node, {key: await fileOf(node, 'node.key'), cert: await fileOf(node, 'node.crt')});

  t.is(own.status, 200);
  t.true(JSON.parse(own.body).data.digests.length > 0);
  await t.throwsAsync(ask(node, {}), undefined, 'no certificate');
  await t.throwsAsync(ask(node, forged), undefined, 'a certificate of another CA');
  await t.throwsAsync(
    ask(node, {key: await fileOf(node, 'api.key'), cert: await fileOf(node, 'api.crt')}),
    undefined,
    'a certificate that is for servers only',
  );
});

test('a certificate of the CA that names no node is answered 403', async t => {
  const node = await startNode(t);
  const authority = {key: await fileOf(node, 'ca.key'), cert: await fileOf(node, 'ca.crt')};
  const nameless = await issueLeaf(authority, {commonName: 'x', hosts: ['localhost'], uris: ['urn:other:node:x']}, Date.now());

  const {status} = await ask(node, nameless);

  t.is(status, 403);
});
