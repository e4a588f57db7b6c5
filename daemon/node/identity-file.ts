// Identity of a node whose store is shared: which of the nodes in the store this one is, and of which cluster.
import {X509Certificate} from 'node:crypto';
import {readFile, rename, writeFile} from 'node:fs/promises';
import {dirname} from 'node:path';
import {z} from 'zod';
import {nodeId} from '../../shared/fields.ts';
import {jsonIn} from '../../shared/json-in.ts';
import {syncFolder} from '../../shared/sync-folder.ts';
import {fingerprintOf} from '../cluster/join-token.ts';
import {readText} from '../config/load.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {nodeNo} from '../services/cluster/peer-protocol.ts';
import {CommandError} from './command-error.ts';

const identitySchema = z.strictObject({node_id: nodeId, node_no: nodeNo});

/** Throws a CommandError if the file is not there or not an identity. */
export const readIdentityFile = async (file: string): Promise<NodeIdentity> => {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw new CommandError(`${file} is gone; restore it from a backup, or make a new node in another folder`);
    throw new CommandError(`${file} cannot be read (${error.code})`);
  });
  const {data} = identitySchema.safeParse(jsonIn(text));
  if (!data) throw new CommandError(`${file} does not say which node this is; restore it from a backup`);
  return {nodeId: data.node_id, nodeNo: data.node_no};
};

/** The file is on stable storage when this resolves. */
export const writeIdentityFile = async (file: string, identity: NodeIdentity): Promise<void> => {
  const text = `${JSON.stringify({node_id: identity.nodeId, node_no: identity.nodeNo})}\n`;
  await writeFile(`${file}.new`, text, {mode: 0o600, flush: true});
  await rename(`${file}.new`, file);
  await syncFolder(dirname(file));
};

/** Names the cluster in a common store: the SHA-256 of the certificate of its authority, as `sha256:` and hex. */
export const readClusterFingerprint = async (caCertFile: string): Promise<string> => {
  const text = await readText(caCertFile, caCertFile);
  try {
    return clusterFingerprint(fingerprintOf(new X509Certificate(text).raw));
  } catch {
    throw new CommandError(`${caCertFile} is not a certificate (PEM); restore it from a backup`);
  }
};

export const clusterFingerprint = (hash: Buffer): string => `sha256:${hash.toString('hex')}`;
