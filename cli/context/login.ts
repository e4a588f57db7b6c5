import {X509Certificate} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import type {Command} from 'commander';
import type {Me} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {apiUrl, type Connection, checkedKey, givenCaFile, givenKey, typedUrl} from '../client/connection.ts';
import {isOwnAuthority, otherAddresses} from '../cluster/other-addresses.ts';
import {askHidden} from '../command-line/question.ts';
import {CliError, usageError} from '../errors.ts';
import {type Context, isContextName} from '../files/context-store.ts';
import type {Detail, Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {expectedFingerprint, trustedBy} from './server-trust.ts';

interface LoginFlags {
  name?: string;
  fingerprint?: string;
  yes?: boolean;
}

export const addLoginCommand = (program: Command, session: Session): void => {
  session
    .prints(program.command('login'), loginShown)
    .description('check and trust a server, store a key for it in a context, and switch to that context')
    .argument('<url>', 'address of a node, such as mx1.example.com, which means https://mx1.example.com:8443')
    .option('--name <name>', 'name of the context (default: the id of the node; NAME-2 where another cluster has that name)')
    .option('--fingerprint <sha256>', 'trust the server only if its certificate, or that of its CA, has this fingerprint')
    .option('--yes', 'do not ask: trust the server without comparing its fingerprint')
    .addHelpText('after', help)
    .action((url: string, flags: LoginFlags) => login(session, url, flags));
};

const help = `
Once the server is trusted, mfctl asks for the key and does not show it; --api-key-file FILE, - or MFCTL_API_KEY give it
without a question. From then on mfctl trusts the CA that the server shows, so its certificates may be renewed. If the server
shows another CA later, mfctl sends no key. --cacert FILE names a CA that is trusted already.

The addresses of the other nodes are kept too, if the key may read the cluster's status and the authority is the cluster's own.
When a node does not answer, the next one is asked, which must show a certificate of the same authority. A command
that reads the status of the cluster adds new ones. Log in again to forget those of nodes that were removed.

On a node of the cluster, this shows the fingerprint to compare with, or to give as --fingerprint:
  openssl x509 -noout -fingerprint -sha256 -in DATA/tls/ca.crt`;

const login = async (session: Session, address: string, flags: LoginFlags): Promise<void> => {
  const {terminal} = session;
  const url = typedUrl(address);
  const expected = expectedFingerprint(flags.fingerprint);
  if (flags.name !== undefined && !isContextName(flags.name)) throw badName(flags.name);
  // Files are checked before the first question.
  const cacert = givenCaFile(terminal, session.flags());
  const given = await givenKey(terminal, session.flags());
  if (given === undefined && !terminal.stdin.isTTY)
    throw usageError('there is no key, and no terminal to type it on', 'give it with --api-key-file FILE, - or MFCTL_API_KEY');

  const trust = await trustedBy(session, {url, cacert, expected, isAgreed: flags.yes});
  const apiKey = given ?? checkedKey(await askHidden(terminal, 'API key: '), 'what was typed');
  const connection: Connection = {baseUrl: apiUrl(url), apiKey, ca: trust.ca, fingerprint: trust.context.fingerprint};
  const client = await session.clientFor(connection, {retry: session.patience()});
  const {data: me} = await client.me();
  const others = await learnOthers(session, client, {url, ca: trust.ca, me});

  const wanted = flags.name ?? me.node_id;
  if (!isContextName(wanted)) throw badName(wanted);
  const known = (await session.contexts.read()).contexts;
  const old = flags.name === undefined ? await contextOfCluster(known, wanted, {url, ca: trust.ca}) : byName(known, wanted);
  const named = old?.name ?? wanted;
  if (old && old.url !== url)
    await session.confirm(`There is a context ${named} already, for ${old.url}. Replace it?`, flags.yes);
  const metricsUrl = old?.url === url ? old.metricsUrl : undefined;
  const context: Context = {name: named, url, others, ...trust.context, metricsUrl};
  const ca = trust.isKeptHere ? trust.ca : undefined;
  const name = await session.contexts.put(context, {key: apiKey, makeCurrent: true, ca, isNew: old === undefined});

  session.printer().record(loginRecord({...context, name}, me), loginShown);
  session.printer().note(name === named ? `now using ${name}` : `now using ${name}, as there is a context ${named} already`);
};

const byName = (contexts: readonly Context[], name: string): Context | undefined => contexts.find(known => known.name === name);

/**
 * The context to update: that of the node's id if it is of this cluster, or one that an earlier login has given another name. Undefined
 * where only contexts of other clusters have the name: they keep their address and their key.
 */
const contextOfCluster = async (
  contexts: readonly Context[],
  name: string,
  {url, ca}: {url: string; ca: string | undefined},
): Promise<Context | undefined> => {
  const first = byName(contexts, name);
  if (first && (first.url === url || (first.others ?? []).includes(url) || (await isTrustedBy(first, ca)))) return first;
  return contexts.find(known => known.url === url && /^-\d+$/.test(known.name.slice(name.length)) && known.name.startsWith(name));
};

/** Whether the context trusts the authority of a cluster, and that is `ca`. A public authority signs for every cluster. */
const isTrustedBy = async ({cacert}: Context, ca: string | undefined): Promise<boolean> => {
  if (cacert === undefined || ca === undefined || !isOwnAuthority(ca)) return false;
  const kept = await readFile(cacert, 'utf8').catch(() => '');
  return isOwnAuthority(kept) && new X509Certificate(kept).fingerprint256 === new X509Certificate(ca).fingerprint256;
};

/** The addresses of the other nodes; none when a server outside the cluster could have a trusted certificate. */
const learnOthers = async (
  session: Session,
  client: Client,
  {url, ca, me}: {url: string; ca: string | undefined; me: Me},
): Promise<string[]> => {
  if (ca === undefined || !isOwnAuthority(ca) || !me.permissions.includes('cluster:read')) return [];
  try {
    const {data} = await client.cluster.status();
    return otherAddresses(data, url);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    session.printer().warn(`the addresses of the other nodes could not be read: ${error.detail}`);
    return [];
  }
};

const badName = (name: string): CliError =>
  usageError(`${JSON.stringify(name)} cannot name a context: use letters, digits, dots, hyphens`, 'choose one: --name NAME');

const loginRecord = ({name, url, others = [], fingerprint}: Context, me: Me): Login => ({
  context: name,
  url,
  urls: [url, ...others],
  fingerprint: fingerprint ?? null,
  node_id: me.node_id,
  key_id: me.id,
  key_name: me.name,
  scope: me.scope,
});

interface Login {
  context: string;
  url: string;
  urls: string[];
  fingerprint: string | null;
  node_id: string;
  key_id: number;
  key_name: string;
  scope: string;
}

const loginDetails = (record: Login): Detail[] => [
  ['Context', record.context],
  ['URL', record.urls],
  ['Node', record.node_id],
  ['Key', `${record.key_name} (${record.key_id})`],
  ['Scope', record.scope],
  ['Trusts', record.fingerprint ?? 'what the system or --cacert trusts'],
];

const loginShown: Shown<Login> = {
  fields: ['context', 'url', 'urls', 'fingerprint', 'node_id', 'key_id', 'key_name', 'scope'],
  nameOf: ({context}) => context,
  details: loginDetails,
};
