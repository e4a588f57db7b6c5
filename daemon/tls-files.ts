// The certificate the API and STARTTLS show: the operator's own, or one from the cluster CA that renews itself.
import {readFile, rename, writeFile} from 'node:fs/promises';
import {hostname} from 'node:os';
import {createSecureContext} from 'node:tls';
import {isWildcard, parseHostPort} from '../shared/host-port.ts';
import {createClusterAuthority} from './cluster/authority.ts';
import {issueLeaf, type KeyAndCertificate, type LeafRequest, needsRenewal} from './cluster/certificates.ts';
import {identityUris, type NodeIdentity} from './cluster/peer-identity.ts';
import {ConfigError, readText} from './config/load.ts';
import type {Config} from './config/schema.ts';
import type {DataFolder} from './data-folder.ts';
import type {Authority} from './services/authority.ts';
import {isCertifiable} from './services/join-protocol.ts';

/** Names and addresses a client may reach this node by. */
export const apiHosts = (config: Config): string[] => {
  const listen = parseHostPort(config.api.listen, {allowZero: true})?.host ?? '';
  const names = [config.fqdn ?? hostname(), hostname(), 'localhost', '127.0.0.1', '::1', ...(isWildcard(listen) ? [] : [listen])];
  return [...new Set(names)].filter(isCertifiable);
};

/** The cluster's authority if this node has its key, undefined otherwise. */
export const authorityIn = async (folder: DataFolder, now: () => number): Promise<Authority | undefined> => {
  const key = await readFile(folder.caKey, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new ConfigError(`${folder.caKey} cannot be read (${error.code})`);
  });
  if (key === undefined) return undefined;
  const pair = {cert: await readText(folder.caCert, folder.caCert), key};
  if (!isPair(pair)) throw new ConfigError(`${folder.caCert} and ${folder.caKey} are no certificate (PEM) and its private key`);
  return createClusterAuthority(pair, now);
};

/** Key and certificate for the API; made anew when past two thirds of its life or when the node's names have changed. */
export const apiCertificate = async (folder: DataFolder, config: Config, nowMs: number): Promise<KeyAndCertificate> => {
  const {cert_file, key_file} = config.api;
  if (cert_file !== undefined && key_file !== undefined) {
    const pair = {cert: await readText(cert_file, 'api.cert_file'), key: await readText(key_file, 'api.key_file')};
    if (!isPair(pair))
      throw new ConfigError('api.cert_file and api.key_file are no certificate (PEM) and its private key', 'api.cert_file');
    return pair;
  }

  const hosts = apiHosts(config);
  return leafOf(folder, {cert: folder.apiCert, key: folder.apiKey}, {commonName: hosts[0] ?? 'mfd', hosts}, nowMs);
};

/** What this node shows its peers, as server and as client: its id stands in a URI (see `identityUris`). */
export const nodeCertificate = async (
  folder: DataFolder,
  config: Config,
  identity: NodeIdentity,
  nowMs: number,
): Promise<KeyAndCertificate> =>
  leafOf(
    folder,
    {cert: folder.nodeCert, key: folder.nodeKey},
    {commonName: identity.nodeId, hosts: apiHosts(config), uris: identityUris(identity)},
    nowMs,
  );

const leafOf = async (
  folder: DataFolder,
  files: KeyAndCertificate,
  request: LeafRequest,
  nowMs: number,
): Promise<KeyAndCertificate> => {
  const cert = await readFile(files.cert, 'utf8').catch(() => '');
  const key = await readFile(files.key, 'utf8').catch(() => '');
  if (isPair({cert, key}) && !needsRenewal(cert, [...request.hosts, ...(request.uris ?? [])], nowMs)) return {cert, key};

  const authority = {cert: await readText(folder.caCert, folder.caCert), key: await readText(folder.caKey, folder.caKey)};
  if (!isPair(authority))
    throw new ConfigError(`${folder.caCert} and ${folder.caKey} are no certificate (PEM) and its private key`);
  const issued = await issueLeaf(authority, request, nowMs);
  await replaceFile(files.key, issued.key);
  await replaceFile(files.cert, issued.cert);
  return issued;
};

const isPair = ({cert, key}: KeyAndCertificate): boolean => {
  if (cert === '' || key === '') return false;
  try {
    createSecureContext({cert, key});
    return true;
  } catch {
    return false;
  }
};

const replaceFile = async (path: string, text: string): Promise<void> => {
  await writeFile(`${path}.new`, text, {mode: 0o600});
  await rename(`${path}.new`, path);
};
