// Certificates that expire while the node that renews them is away, on hosts with addresses and clocks of their own.
import {X509Certificate} from 'node:crypto';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {createRequest, issueLeaf} from '../../daemon/cluster/certificates.ts';
import {identityUris} from '../../daemon/cluster/peer-identity.ts';
import type {Peer} from '../../shared/cluster-status.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';
import {addToConfig} from '../helpers/node.ts';
import {callPeer, nodeCredentials, shownAt} from '../helpers/peer-call.ts';
import {mfdFile, run} from '../helpers/program.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testWith} from '../helpers/test-with.ts';
import {startWallClocks, wallClocksMissing} from '../helpers/wall-clocks.ts';

const names = ['alpha', 'beta', 'gamma'] as const;
const minute = 60;
/**
 * Certificates are valid for 90 days: by the clock of the tests they expire in 20 minutes, so that the tests can call the nodes
 * all the time.
 */
const atFirst = -90 * 24 * 60 * minute + 20 * minute;
/** By the clocks of the nodes they have expired then; new ones are valid from one day before they are issued. */
const afterTheEnd = 60 * minute;

const cutOff =
  /cut off from the cluster: its certificate expired at \S+ and no other node has renewed it; mail goes on\. Start the node/;

const readiness = async ({metrics_url}: ClusterNode): Promise<[status: number, text: string]> => {
  const answer = await fetch(`${metrics_url}/readyz`);
  return [answer.status, await answer.text()];
};

const entryOf = async (node: ClusterNode, other: string): Promise<Peer> => {
  const found = (await node.status()).peers.find(({node_id}) => node_id === other);
  if (!found) throw new Error(`${node.node_id} does not know ${other}`);
  return found;
};

const onNetwork = testWith('network', networkMissing ?? wallClocksMissing);

onNetwork(
  'nodes whose certificates end while the authority is away take mail, say that they are cut off, and are whole again once it is back',
  async t => {
    const network = await startNetwork(t, names);
    const clocks = await startWallClocks(t, names);
    const setAll = async (seconds: number) => clocks.set({alpha: seconds, beta: seconds, gamma: seconds});
    await setAll(atFirst);
    const smtp = {trusted_networks: ['10.213.0.0/16']};
    const cluster = await startCluster(t, {nodes: names, network, isProxied: false, env: clocks.env, config: {smtp}});
    const {alpha, beta, gamma} = cluster.nodes;
    const backend = `${network.address}:${cluster.sink.server.port}`;
    const {id} = await alpha.createDomain({name: 'held.test', backend_servers: [backend]});
    await cluster.converged();

    await alpha.stop();
    // Beta and gamma exchange heartbeats while their certificates expire.
    await setAll(afterTheEnd);
    for (const [node, other] of [
      [beta, 'gamma'],
      [gamma, 'beta'],
    ] as const)
      await eventually(async () => (await entryOf(node, other)).unanswered_since ?? undefined);
    await beta.stop();
    await clocks.set({beta: afterTheEnd + 10 * minute});
    await beta.start();
    // Gamma requests a renewal on demand, as it would by itself within a minute, and uses the certificate that its operator has
    // installed meanwhile.
    const authority = await nodeCredentials(alpha, 'ca');
    const ofOperator = await issueLeaf(authority, {commonName: 'gamma', hosts: [network.hosts.gamma.address]}, Date.now());
    const [cert_file, key_file] = [join(gamma.data, 'own.crt'), join(gamma.data, 'own.key')];
    await writeFile(cert_file, ofOperator.cert);
    await writeFile(key_file, ofOperator.key);
    await addToConfig(gamma.data, {api: {cert_file, key_file}});
    gamma.signal('SIGHUP');
    const {fingerprint256} = new X509Certificate(ofOperator.cert);
    await eventually(async () => (await shownAt(gamma.api_url)) === fingerprint256);

    for (const node of [beta, gamma]) {
      const [status, text] = await eventually(async () => {
        const told = await readiness(node);
        return told[1].includes('cut off') && told;
      });
      t.is(status, 200);
      t.regex(text, /^ready\n/);
      t.regex(text, cutOff);
      await eventually(() => cutOff.test(node.log()));
      const check = await node.mfctl(['cluster', 'check']);
      t.is(check.code, 2, check.stdout);
      t.true(check.stdout.startsWith(`MFD CLUSTER CRITICAL: ${node.node_id} is cut off from the other nodes`), check.stdout);
      t.regex((await node.mfctl(['cluster', 'status'])).stdout, new RegExp(`\\* +${node.node_id} .* online, .*cut off `));
    }
    t.is((await entryOf(beta, 'gamma')).healthy, 'offline', 'not heard for ten minutes, by its clock');

    const raw = 'Subject: x\r\nX-Spam-Score: 8\r\n\r\nx\r\n';
    const host = network.hosts.beta.address;
    const {reply} = await sendMail({port: beta.smtpPort, host, from: 'a@outside.test', to: 'b@held.test', raw});
    t.regex(`${reply.code} ${reply.text}`, /^250 .*queued as/);
    const held = await beta.api('GET', 'mail/quarantine?node=beta');
    t.deepEqual([held.status, held.json.data.length], [200, 1]);
    await beta.updateDomain(id, {quarantine_threshold: 4});

    const checked = await run(mfdFile, ['check-config', '--data', beta.data], {env: clocks.env.beta});
    t.is(checked.code, 0);
    t.regex(checked.stderr, /^mfd: warning: \S+\/node\.crt expired on .*\nmfd: warning: \S+\/api\.crt expired on /);
    const refused = await beta.mfctl(['whoami'], {env: clocks.env.beta});
    t.is(refused.code, 7);
    t.regex(refused.stderr, /has expired; the key was not sent \(tls_expired\)\nhint: compare the clocks/);

    await alpha.start();

    for (const node of [beta, gamma]) {
      // Each node requests a renewal once a minute.
      await eventually(async () => {
        const [, told] = await readiness(node);
        return told.startsWith('ready\n') && !told.includes('cut off');
      }, 100_000);
      const errors = node
        .log()
        .split('\n')
        .filter(line => line.includes('"level":"error"'));
      t.is(errors.length, 1, node.log());
      t.regex(errors[0] ?? '', cutOff);
    }
    await cluster.converged();
    for (const node of [alpha, beta, gamma]) {
      const peers = await eventually(async () => {
        const all = (await node.status()).peers;
        return all.every(({healthy, unanswered_since}) => healthy === 'online' && unanswered_since === null) && all;
      });
      t.is(peers.length, 3);
      t.is((await node.domain(id))?.quarantine_threshold, 4);
    }
    const ended = /^number \d, its certificate had expired at 20/;
    const renewals = (await alpha.audit('cluster.renew')).filter(({detail}) => ended.test(detail));
    t.deepEqual(renewals.map(({target}) => target).toSorted(), ['beta', 'gamma']);
    t.is((await alpha.api('GET', 'mail/quarantine')).json.data.length, 1);

    // The names of an expired certificate are not reserved: another node may own this name by now.
    const leaf = {commonName: 'beta', hosts: ['was-beta.test'], uris: identityUris({nodeId: 'beta', nodeNo: 2})};
    const old = await issueLeaf(authority, leaf, Date.now() - 100 * 24 * 3600 * 1000);
    const {status: refusal} = await callPeer(alpha, old, {method: 'POST', path: 'heartbeat', body: {}});
    const {request: csr} = await createRequest();
    const requests = {node_csr: csr, api_csr: csr, api_hosts: ['was-beta.test']};
    const given = await callPeer(alpha, await nodeCredentials(gamma), {method: 'POST', path: 'certificates', body: requests});
    t.is(refusal, 403);
    t.regex(new X509Certificate(given.json.data.node_cert).subjectAltName ?? '', /DNS:was-beta\.test/);
  },
);
