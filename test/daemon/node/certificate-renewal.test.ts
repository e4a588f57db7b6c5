import {X509Certificate} from 'node:crypto';
import {mkdir, readFile, rename, rm, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createAuthority} from '../../../daemon/cluster/certificates.ts';
import {createClusterAuthority} from '../../../daemon/cluster/join-token.ts';
import {identityIn} from '../../../daemon/cluster/peer-identity.ts';
import {ConfigError} from '../../../daemon/config/load.ts';
import {type Config, configSchema} from '../../../daemon/config/schema.ts';
import {type AskPeers, type CertificateRenewal, openCertificates} from '../../../daemon/node/certificate-renewal.ts';
import {CommandError} from '../../../daemon/node/command-error.ts';
import {dataFolder} from '../../../daemon/node/data-folder.ts';
import {apiHosts, authorityIn} from '../../../daemon/node/tls-files.ts';
import type {NodeIdentity} from '../../../daemon/services/actor.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {useMovedClock} from '../../helpers/moved-clock.ts';
import {testFolder} from '../../helpers/store.ts';

const dayMs = 24 * 3600 * 1000;
const start = Date.now();
const beta = {nodeId: 'beta', nodeNo: 2};

/** A renewal whose requests go to `peer` as another node. */
type Opened = Omit<CertificateRenewal, 'refresh'> & {refresh(isForced?: boolean): Promise<boolean>};

interface Arranged {
  folder: ReturnType<typeof dataFolder>;
  config: Config;
  /** Removes the authority's key from the folder: from then on only the peer has it. */
  giveAwayKey(): Promise<void>;
  /** Opens the renewal as at a start `days` from now; the peer can be asked if it has the authority's key. */
  open(days: number, config?: Config): Promise<Opened>;
  peer: {isAway: boolean; asked: number; certifies: NodeIdentity; keeps: string[]};
}

const arrange = async (t: ExecutionContext): Promise<Arranged> => {
  const folder = dataFolder(await testFolder(t));
  await mkdir(folder.tls);
  const pair = await createAuthority(start);
  await writeFile(folder.caKey, pair.key);
  await writeFile(folder.caCert, pair.cert);
  const config = configSchema.parse({fqdn: 'mx1.example.com', api: {listen: '192.0.2.7:8443'}});
  const clock = {days: 0};
  const now = () => start + clock.days * dayMs;
  const peer = {isAway: false, asked: 0, certifies: beta, keeps: [] as string[]};
  return {
    folder,
    config,
    peer,
    giveAwayKey: async () => rm(folder.caKey),
    async open(days, used = config) {
      clock.days = days;
      const askPeers: AskPeers = async requests => {
        peer.asked += 1;
        if (peer.isAway) throw new Error('nobody answers');
        const api_hosts = requests.api_hosts.filter(host => !peer.keeps.includes(host));
        return createClusterAuthority(pair, now).certify(peer.certifies, {...requests, api_hosts});
      };
      const renewal = await openCertificates({
        folder,
        identity: beta,
        config: () => used,
        hosts: () => apiHosts(used),
        authority: async () => authorityIn(folder, now),
        now,
      });
      return {...renewal, refresh: async isForced => renewal.refresh(askPeers, isForced)};
    },
  };
};

test('certificates are made once, for all names of the node and for who it is, and their keys are for the owner only', async t => {
  const {folder, open} = await arrange(t);

  const first = (await open(0)).current();
  const second = (await open(30)).current();

  t.deepEqual(second, first);
  for (const file of [folder.apiKey, folder.nodeKey]) t.is((await stat(file)).mode & 0o777, 0o600);
  const names = new X509Certificate(first.api.cert).subjectAltName ?? '';
  for (const name of ['DNS:mx1.example.com', 'DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:192.0.2.7'])
    t.true(names.includes(name), name);
  t.deepEqual(identityIn(new X509Certificate(first.cluster.cert).subjectAltName), beta);
});

test('the API shows the authority with its certificate, so that it can be trusted by its fingerprint; peers have it already', async t => {
  const {folder, open} = await arrange(t);

  const {api, cluster} = (await open(0)).current();

  const [leaf, ca, ...more] = api.cert.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  t.true(new X509Certificate(leaf ?? '').verify(new X509Certificate(ca ?? '').publicKey));
  t.is(ca, (await readFile(folder.caCert, 'utf8')).trim());
  t.is(more.length, 0);
  t.is(cluster.cert, await readFile(folder.nodeCert, 'utf8'));
});

test('with the authority at hand they are renewed at two thirds of their life, when names change, and when a file is gone', async t => {
  const {folder, config, open} = await arrange(t);
  const renamed = {...config, fqdn: 'mx2.example.com'};

  const made = [(await open(0)).current(), (await open(61)).current(), (await open(61, renamed)).current()];
  await rm(folder.apiKey);
  made.push((await open(61, renamed)).current());

  t.is(new Set(made.map(({api}) => api.cert)).size, 4);
  t.is(new Set(made.map(({cluster}) => cluster.key)).size, 4);
  t.true(made.at(-1)?.api.cert.startsWith(await readFile(folder.apiCert, 'utf8')));
});

test('without it a start goes on with what is due, and a peer gives new ones for keys that it never sees', async t => {
  const {giveAwayKey, open, peer} = await arrange(t);
  const old = (await open(0)).current();
  await giveAwayKey();

  const renewal = await open(61);
  const atStart = renewal.current();
  const isOther = await renewal.refresh();
  const again = await renewal.refresh();

  t.deepEqual(atStart, old);
  t.true(isOther);
  t.false(again);
  t.is(peer.asked, 1);
  t.not(renewal.current().cluster.key, old.cluster.key);
  t.is(new X509Certificate(renewal.current().cluster.cert).validTo, new X509Certificate(renewal.current().api.cert).validTo);
  t.deepEqual((await open(62)).current(), renewal.current());
});

test('a certificate that names another node, or another number, is not taken', async t => {
  const {giveAwayKey, open, peer} = await arrange(t);
  const old = (await open(0)).current();
  await giveAwayKey();
  const renewal = await open(61);

  for (const other of [
    {nodeId: 'alpha', nodeNo: 2},
    {nodeId: 'beta', nodeNo: 1},
  ]) {
    peer.certifies = other;
    await t.throwsAsync(renewal.refresh(true), {message: /not for node beta, number 2/});
  }

  t.deepEqual(renewal.current(), old);
  t.deepEqual((await open(61)).current(), old);
});

test('while no peer can give new ones the old ones stay, and it is not tried again at once unless somebody insists', async t => {
  const {giveAwayKey, open, peer} = await arrange(t);
  const old = (await open(0)).current();
  await giveAwayKey();
  const renewal = await open(61);
  peer.isAway = true;

  await t.throwsAsync(renewal.refresh(), {message: 'nobody answers'});
  const quiet = await renewal.refresh();
  peer.isAway = false;
  const insisted = await renewal.refresh(true);

  t.false(quiet);
  t.true(insisted);
  t.is(peer.asked, 2);
  t.not(renewal.current().api.cert, old.api.cert);
});

test.serial(
  'a name that the authority does not give is no reason for one renewal after another, and is asked for when somebody insists',
  async t => {
    const {config, giveAwayKey, open, peer} = await arrange(t);
    const moveClock = useMovedClock(t);
    await open(0, {...config, fqdn: 'old.example.com'});
    await giveAwayKey();
    peer.keeps = ['mx1.example.com'];
    const renewal = await open(1);

    const outcomes = [await renewal.refresh()];
    for (const hours of [2, 24, 24]) {
      moveClock(hours * 3_600_000);
      outcomes.push(await renewal.refresh());
    }
    peer.keeps = [];
    outcomes.push(await renewal.refresh(true));

    t.deepEqual(outcomes, [true, false, false, false, true]);
    t.is(peer.asked, 2);
    t.true(new X509Certificate(renewal.current().cluster.cert).subjectAltName?.includes('DNS:mx1.example.com'));
  },
);

test('an address is the same however the configuration spells it', async t => {
  const {config, open} = await arrange(t);
  for (const [n, listen] of ['[2001:DB8::1]:8443', '[2001:db8:0:0::1]:8443', '[::ffff:10.0.0.1]:8443'].entries()) {
    const used = {...config, fqdn: `MX${n}.example.com`, api: {...config.api, listen}};

    const renewal = await open(0, used);
    const isOther = await renewal.refresh(true);

    t.false(isOther, listen);
  }
});

test('two that renew at one moment leave one pair that belongs together', async t => {
  const {giveAwayKey, open, peer} = await arrange(t);
  await open(0);
  await giveAwayKey();
  const renewal = await open(61);

  await Promise.all([renewal.refresh(true), renewal.refresh(true), renewal.refresh()]);

  t.is(peer.asked, 1);
  t.deepEqual((await open(61)).current(), renewal.current());
});

test('a damaged certificate without the authority is one clear error', async t => {
  const {folder, giveAwayKey, open} = await arrange(t);
  await open(0);
  await giveAwayKey();
  await rm(folder.nodeCert);

  await t.throwsAsync(open(1), {instanceOf: CommandError, message: /missing or damaged; .*join again/});
  await t.throwsAsync(open(91), {instanceOf: CommandError, message: /missing or damaged; .*join again/});
});

test('one that has ended is no reason not to start: it is said since when, and a new one is asked for at every turn', async t => {
  const {giveAwayKey, open, peer} = await arrange(t);
  const old = (await open(0)).current();
  await giveAwayKey();
  const inTime = (await open(89)).cutOffSince();

  const renewal = await open(200);
  const atStart = [renewal.current(), renewal.cutOffSince()];
  peer.isAway = true;
  for (let tries = 0; tries < 3; tries += 1) await t.throwsAsync(renewal.refresh(), {message: 'nobody answers'});
  peer.isAway = false;
  const isOther = await renewal.refresh();

  t.is(inTime, undefined);
  t.deepEqual(atStart, [old, new Date(new X509Certificate(old.cluster.cert).validTo)]);
  t.true(isOther);
  t.is(peer.asked, 4);
  t.is(renewal.cutOffSince(), undefined);
  t.not(renewal.current().cluster.cert, old.cluster.cert);
});

test('the operator’s certificate takes the place of one that nobody renews, without a restart', async t => {
  const {folder, config, giveAwayKey, open, peer} = await arrange(t);
  await open(0);
  await giveAwayKey();
  peer.isAway = true;
  const used = {...config, api: {...config.api}};
  const renewal = await open(200, used);
  const {key, cert} = await selfSigned('own.test');
  const [cert_file, key_file] = [join(folder.root, 'c.pem'), join(folder.root, 'k.pem')];
  await writeFile(cert_file, cert);
  await writeFile(key_file, key);

  Object.assign(used.api, {cert_file, key_file});
  await t.throwsAsync(renewal.refresh(true), {message: 'nobody answers'});

  t.deepEqual(renewal.current().api, {key, cert});
});

test('with the authority’s key for one start, one that has expired is renewed before anybody is asked', async t => {
  const {folder, giveAwayKey, open, peer} = await arrange(t);
  await open(0);
  const key = await readFile(folder.caKey, 'utf8');
  await giveAwayKey();
  await writeFile(folder.caKey, key);

  const renewal = await open(200);
  await giveAwayKey();

  t.is(renewal.cutOffSince(), undefined);
  t.deepEqual((await open(201)).current(), renewal.current());
  t.is(peer.asked, 0);
});

test('a renewal that broke off between its two files is finished at the next start', async t => {
  const {folder, giveAwayKey, open} = await arrange(t);
  await open(0);
  const [key, cert] = [await readFile(folder.nodeKey, 'utf8'), await readFile(folder.nodeCert, 'utf8')];
  await rename(folder.nodeCert, `${folder.nodeCert}.new`);
  await writeFile(folder.nodeCert, (await selfSigned('old.test')).cert);
  await giveAwayKey();

  const {cluster} = (await open(1)).current();

  t.deepEqual(cluster, {key, cert});
  t.is(await readFile(folder.nodeCert, 'utf8'), cert);
});

test('the operator’s own certificate is used as it is; one that does not fit its key, or is missing, is a fault of the configuration', async t => {
  const {folder, config, open} = await arrange(t);
  const [own, other] = [await selfSigned('own.test'), await selfSigned('other.test')];
  const [certFile, keyFile, otherKey] = ['c.pem', 'k.pem', 'o.pem'].map(name => join(folder.root, name));
  await writeFile(certFile ?? '', own.cert);
  await writeFile(keyFile ?? '', own.key);
  await writeFile(otherKey ?? '', other.key);
  const using = (cert_file = '', key_file = '') => open(0, {...config, api: {...config.api, cert_file, key_file}});

  t.deepEqual((await using(certFile, keyFile)).current().api, own);
  await t.throwsAsync(using(certFile, otherKey), {instanceOf: ConfigError, message: /api\.cert_file/});
  await t.throwsAsync(using(join(folder.root, 'gone'), keyFile), {instanceOf: ConfigError, message: /gone does not exist/});
});
