// Three nodes of one cluster, each beside a Postfix of its own: their hold queues form one quarantine.
import {testString} from '../../daemon/mail/content-check.ts';
import type {BulkResult, HeldMail, MailReference} from '../../shared/held-mail.ts';
import {type Cluster, type ClusterNode, startCluster, type ThreeNodes} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {isOwnStore} from '../helpers/node-store.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {makeSocketFolder} from '../helpers/socket-folder.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing();
const ifPostfix = serialWith('Postfix', missing);

const names = ['alpha', 'beta', 'gamma'] as const;

interface Site {
  name: ThreeNodes;
  node: ClusterNode;
  postfix: PrivatePostfix;
}

interface Sites extends Record<ThreeNodes, Site> {
  all: Site[];
  cluster: Cluster<ThreeNodes>;
}

/** Configured as by `mfd setup postfix`. */
const startSites = async (owner: Owner): Promise<Sites> => {
  const postfixes = await Promise.all(
    names.map(async name => {
      const table = (of: string) => `socketmap:unix:mfd/socketmap.sock:${of}`;
      const settings = {
        smtpd_milters: 'unix:mfd/milter.sock',
        relay_domains: table('relay_domains'),
        transport_maps: table('transport_maps'),
        smtpd_relay_restrictions: 'reject_unauth_destination',
      };
      const postfix = await startPostfix(owner, {settings, isStarted: false});
      return {name, postfix, folder: await makeSocketFolder(postfix)};
    }),
  );
  const configOf = Object.fromEntries(
    postfixes.map(({name, postfix, folder}) => {
      const [milter_listen, socketmap_listen] = [`unix:${folder}/milter.sock`, `unix:${folder}/socketmap.sock`];
      return [name, {postfix: {config_dir: postfix.configDir, reconcile_interval: 0.3, milter_listen, socketmap_listen}}];
    }),
  );
  const cluster = await startCluster<ThreeNodes>(owner, {configOf, isProxied: false});
  await cluster.converged();
  for (const {postfix} of postfixes) await postfix.start();
  const all = postfixes.map(({name, postfix}) => ({name, postfix, node: cluster.nodes[name]}));
  return {...(Object.fromEntries(all.map(site => [site.name, site])) as Record<ThreeNodes, Site>), all, cluster};
};

const sitesOfFile = missing === undefined && forFile(startSites);
const sites = (): Sites => {
  if (!sitesOfFile) throw new Error(missing);
  return sitesOfFile();
};

/** Creates a domain and waits until every node knows it. */
const createDomain = async (): Promise<string> => {
  const {alpha, cluster} = sites();
  const {name} = await alpha.node.createDomain();
  await cluster.converged();
  return name;
};

let sent = 0;
/** Uses another sender for each mail, as a Postfix process caches the answers about a sender and a recipient. */
const send = async ({postfix}: Site, to: string, body: string) => {
  sent += 1;
  const raw = `From: ada${sent}@example.net\r\nTo: ${to}\r\nSubject: No ${sent}\r\n\r\n${body}\r\n`;
  return (await sendMail({port: postfix.port, from: `ada${sent}@example.net`, to, raw})).reply;
};

/** Makes the Postfix of this site hold a mail on the decision of its milter. */
const hold = async (site: Site, domain: string): Promise<MailReference> => {
  const {code, text} = await send(site, `ben@${domain}`, testString);
  const queue_id = / queued as (\w+)$/.exec(text)?.[1];
  if (code !== 250 || queue_id === undefined) throw new Error(`${code} ${text}`);
  await eventually(async () => (await site.postfix.onHold()).includes(queue_id));
  return {node_id: site.name, queue_id};
};

const list = async ({node}: Site, domain: string) => node.api('GET', `mail/quarantine?limit=1000&domain=${domain}`);
const idOf = ({node_id, queue_id}: MailReference): string => `${node_id}/${queue_id}`;
const idsIn = async (site: Site, domain: string): Promise<string[]> =>
  (await list(site, domain)).json.data.map((mail: HeldMail) => idOf(mail));
const deliveredTo = (domain: string): number =>
  sites().cluster.sink.mails.filter(({recipients}) => recipients[0]?.endsWith(`@${domain}`)).length;

ifPostfix('what three Postfixes hold is one list, the same on every node', async t => {
  const {all} = sites();
  const domain = await createDomain();

  const held: MailReference[] = [];
  for (const site of [...all, ...all]) held.push(await hold(site, domain));

  for (const site of all) {
    const {json, headers} = await list(site, domain);
    t.is(json.message, 'OK');
    t.is(headers['x-total-count'], '6');
    t.deepEqual(json.data.map(idOf).toSorted(), held.map(idOf).toSorted());
    t.true(json.data.every(({score}: HeldMail) => score === 10));
    const own = held.filter(({node_id}) => node_id === site.name).map(({queue_id}) => queue_id);
    t.deepEqual((await site.postfix.onHold()).filter(id => own.includes(id)).toSorted(), own.toSorted());
    const {stdout} = await site.node.mfctl(['quarantine', 'list', '--domain', domain, '-o', 'name']);
    t.deepEqual(stdout.trim().split('\n').toSorted(), held.map(idOf).toSorted());
  }
});

ifPostfix('released on one node, a mail that the Postfix of another holds is delivered by that one', async t => {
  const {alpha, beta, gamma} = sites();
  const domain = await createDomain();
  const mail = await hold(beta, domain);

  const {code, stderr} = await alpha.node.mfctl(['quarantine', 'release', idOf(mail), '--yes']);

  t.is(code, 0, stderr);
  await eventually(() => deliveredTo(domain) === 1);
  t.false((await beta.postfix.onHold()).includes(mail.queue_id));
  t.deepEqual(await idsIn(gamma, domain), []);
  const delivery = new RegExp(`${mail.queue_id}: to=<ben@${domain}>.* status=sent`);
  await eventually(async () => delivery.test(await beta.postfix.log()));
  for (const other of [alpha, gamma]) t.false((await other.postfix.log()).includes(mail.queue_id));
});

ifPostfix('many at once, on one node, are released and discarded by the three Postfixes that hold them', async t => {
  const {alpha, gamma, all} = sites();
  const domain = await createDomain();
  const [released, discarded]: [MailReference[], MailReference[]] = [[], []];
  for (const site of all) {
    released.push(await hold(site, domain));
    discarded.push(await hold(site, domain));
  }

  const bulk = await alpha.node.mfctl(['quarantine', 'release', '-', '--yes'], {input: released.map(idOf).join('\n')});
  const {json} = await gamma.node.api('POST', 'mail/quarantine/discard', {body: {items: [...discarded, ...released]}});

  t.is(bulk.code, 0, bulk.stderr);
  t.deepEqual(
    json.data.map((result: BulkResult) => ('error' in result ? result.error.code : result.state)),
    [...discarded.map(() => 'discarded'), ...released.map(() => 'conflict')],
  );
  await eventually(() => deliveredTo(domain) === 3);
  for (const site of all) {
    t.deepEqual(await idsIn(site, domain), []);
    const ids = new Set(await site.postfix.onHold());
    t.false([...released, ...discarded].some(({queue_id}) => ids.has(queue_id)));
  }
});

ifPostfix('a mail released by hand at one node disappears from the list that another shows', async t => {
  const {alpha, gamma} = sites();
  const domain = await createDomain();
  const [mail, other] = [await hold(gamma, domain), await hold(gamma, domain)];
  t.deepEqual((await idsIn(alpha, domain)).toSorted(), [idOf(mail), idOf(other)].toSorted());

  await gamma.postfix.command('postsuper', ['-H', '-', 'hold'], `${mail.queue_id}\n`);

  await eventually(async () => (await idsIn(alpha, domain)).join() === idOf(other));
  const late = await alpha.node.mfctl(['quarantine', 'release', idOf(mail), '--yes']);
  t.is(late.code, 5, late.stderr);
});

ifPostfix('a domain created on one node is taken mail for by the Postfix of another, with no reload', async t => {
  const {alpha, beta, cluster} = sites();
  const before = await send(beta, 'ben@soon.example', 'Hello');

  await alpha.node.createDomain({name: 'soon.example'});
  await cluster.converged();
  const after = await send(beta, 'cid@soon.example', 'Hello');

  t.deepEqual([before.code, before.text.slice(0, 5)], [554, '5.7.1']);
  t.is(after.code, 250, after.text);
  await eventually(() => deliveredTo('soon.example') === 1);
  t.false((await beta.postfix.log()).includes('reload'));
});

ifPostfix(
  'mail in the Postfix of a node that is down waits for it, and is listed meanwhile where nodes share a store',
  async t => {
    const {alpha, gamma} = sites();
    const domain = await createDomain();
    const mail = await hold(gamma, domain);
    t.deepEqual(await idsIn(alpha, domain), [idOf(mail)]);

    await gamma.node.stop('SIGKILL');
    const {headers, json} = await eventually(async () => {
      const listed = await list(alpha, domain);
      return listed.headers['x-unreachable-nodes'] === 'gamma' && listed;
    });
    const refused = await alpha.node.api('POST', `mail/quarantine/${idOf(mail)}/release`);

    t.is(headers['x-total-count'], isOwnStore ? '0' : '1');
    t.deepEqual(json.data.map(idOf), isOwnStore ? [] : [idOf(mail)]);
    t.deepEqual([refused.status, refused.json.error.code], [503, 'node_unreachable']);
    t.true((await gamma.postfix.onHold()).includes(mail.queue_id));

    await gamma.node.start();
    await eventually(async () => (await alpha.node.api('POST', `mail/quarantine/${idOf(mail)}/release`)).status === 200);
    await eventually(() => deliveredTo(domain) === 1);
  },
);
