// Files below tls/: their paths, which of them are usable, and how they are replaced.

import {X509Certificate} from 'node:crypto';
import {readFile, rename, writeFile} from 'node:fs/promises';
import {hostname} from 'node:os';
import {createSecureContext} from 'node:tls';
import {canonicalHost, isWildcard, parseHostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import {createClusterAuthority} from '../cluster/join-token.ts';
import {hostsIn, identityIn} from '../cluster/peer-identity.ts';
import {ConfigError, readText} from '../config/load.ts';
import type {Config} from '../config/schema.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {Authority} from '../services/cluster/authority.ts';
import {isCertifiable} from '../services/cluster/join-protocol.ts';
import type {DataFolder} from './data-folder.ts';

/** The certificates of one node: for clients of its API, and for its peers. */
export interface NodePairs {
  api: KeyAndCertificate;
  cluster: KeyAndCertificate;
}

/** Names and addresses under which clients may connect to this node. */
export const apiHosts = (config: Config): string[] => {
  const listen = parseHostPort(config.api.listen, {allowZero: true})?.host ?? '';
  const advertised = parseHostPort(config.api.advertise ?? '')?.host;
  const names = [
    ...[config.fqdn ?? hostname(), hostname(), 'localhost', '127.0.0.1', '::1'],
    ...(isWildcard(listen) ? [] : [listen]),
    ...(advertised === undefined ? [] : [advertised]),
  ];
  return [...new Set(names.filter(isCertifiable).map(canonicalHost))];
};

/** What listeners show: the pairs of the node, or those of the operator. */
export interface ShownPairs extends NodePairs {
  /** The pages for recipients. */
  pages: KeyAndCertificate;
}

/** The operator's own certificate for the API, or for the pages for recipients; undefined if there is none. */
export const operatorPair = async (config: Config, section: 'api' | 'recipients'): Promise<KeyAndCertificate | undefined> => {
  const {cert_file, key_file} = config[section];
  if (cert_file === undefined || key_file === undefined) return undefined;
  const keys = {cert: `${section}.cert_file`, key: `${section}.key_file`};
  const pair = {cert: await readText(cert_file, keys.cert), key: await readText(key_file, keys.key)};
  if (!isPair(pair))
    throw new ConfigError(`${keys.cert} and ${keys.key} are not a certificate (PEM) and its private key`, keys.cert);
  return pair;
};

/** Throws a ConfigError where one is missing or wrong. */
export const requireOperatorPairs = async (config: Config): Promise<void> => {
  await operatorPair(config, 'api');
  await operatorPair(config, 'recipients');
};

/** The cluster's authority if this node has its key; undefined otherwise. */
export const authorityIn = async (folder: DataFolder, now: () => number): Promise<Authority | undefined> => {
  const key = await readFile(folder.caKey, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new ConfigError(`${folder.caKey} cannot be read (${error.code})`);
  });
  if (key === undefined) return undefined;
  const pair = {cert: await readText(folder.caCert, folder.caCert), key};
  if (!isPair(pair))
    throw new ConfigError(`${folder.caCert} and ${folder.caKey} are not a certificate (PEM) and its private key`);
  return createClusterAuthority(pair, now);
};

/** Each pair that is present, complete and consistent, even if expired. */
export const readPairs = async (folder: DataFolder): Promise<Partial<NodePairs>> => {
  const [api, cluster] = [await readPair(filesOf(folder).api), await readPair(filesOf(folder).cluster)];
  return {...(api && {api}), ...(cluster && {cluster})};
};

/** The host names and addresses in a certificate. */
export const certificateHosts = (cert: string): string[] => hostsIn(new X509Certificate(cert).subjectAltName);

/**
 * Certificates from other nodes are checked before they replace the old ones: a node without an authority could not recover from
 * a wrong one, or from one for another node.
 */
export const requireOurs = (pairs: NodePairs, caCert: string, identity: NodeIdentity): void => {
  const ca = new X509Certificate(caCert);
  for (const pair of Object.values(pairs) as KeyAndCertificate[])
    if (!isPair(pair) || !new X509Certificate(pair.cert).verify(ca.publicKey))
      throw new Error('the new certificates are not from this cluster’s authority, or are for other keys');
  const named = identityIn(new X509Certificate(pairs.cluster.cert).subjectAltName);
  if (named?.nodeId !== identity.nodeId || named.nodeNo !== identity.nodeNo)
    throw new Error(`the certificate that was given is not for node ${identity.nodeId}, number ${identity.nodeNo}`);
};

/** The authority is sent along: a client that trusts its fingerprint, such as `mfctl login`, still does so after a renewal. */
export const withAuthority = ({key, cert}: KeyAndCertificate, caCert: string): KeyAndCertificate => ({
  key,
  cert: new X509Certificate(cert).verify(new X509Certificate(caCert).publicKey) ? `${cert}\n${caCert}` : cert,
});

/**
 * Key and certificate are two files, and a node without an authority must never have a mix of an old and a new pair. Both are
 * therefore written to temporary files first; `readPair` completes an interrupted replacement.
 */
export const writePairs = async (folder: DataFolder, pairs: NodePairs): Promise<void> => {
  for (const which of ['cluster', 'api'] as const) {
    const files = filesOf(folder)[which];
    const options = {mode: 0o600, flush: true};
    await writeFile(beside(files.key), pairs[which].key, options);
    await writeFile(beside(files.cert), pairs[which].cert, options);
    await rename(beside(files.key), files.key);
    await rename(beside(files.cert), files.cert);
  }
};

const readPair = async (files: KeyAndCertificate): Promise<KeyAndCertificate | undefined> => {
  const textOf = async (path: string) => readFile(path, 'utf8').catch(() => '');
  const key = await textOf(files.key);
  const pair = {key, cert: await textOf(files.cert)};
  if (isPair(pair)) return pair;
  const begun = {key, cert: await textOf(beside(files.cert))};
  if (!isPair(begun)) return undefined;
  await rename(beside(files.cert), files.cert);
  return begun;
};

export const expiryOf = ({cert}: Pick<KeyAndCertificate, 'cert'>): Date => new Date(new X509Certificate(cert).validTo);

const filesOf = ({apiCert, apiKey, nodeCert, nodeKey}: DataFolder): NodePairs => ({
  api: {cert: apiCert, key: apiKey},
  cluster: {cert: nodeCert, key: nodeKey},
});

const beside = (path: string): string => `${path}.new`;

const isPair = ({cert, key}: KeyAndCertificate): boolean => {
  if (cert === '' || key === '') return false;
  try {
    createSecureContext({cert, key});
    return true;
  } catch {
    return false;
  }
};
