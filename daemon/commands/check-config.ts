// Configuration checks of `mfd check-config`, also run before a node is created.
import {readFile, stat} from 'node:fs/promises';
import {type LoadedConfig, located} from '../config/load.ts';
import type {DataFolder} from '../node/data-folder.ts';
import {liveSettings} from '../node/live-settings.ts';
import {expiryOf, requireOperatorPairs} from '../node/tls-files.ts';

/** Throws a ConfigError for problems that the text alone does not show, such as missing files. */
export const checkConfig = async (loaded: LoadedConfig): Promise<void> => {
  try {
    liveSettings(loaded).closeScorer();
    await requireOperatorPairs(loaded.config);
  } catch (error) {
    throw located(loaded, error);
  }
};

const dayMs = 24 * 3600 * 1000;
/** Certificates are renewed a month before they expire, so one this old was not renewed. */
const warnedMs = 14 * dayMs;

/** A line for each cluster certificate that has expired or soon will, and that the next start does not renew. */
export const certificateWarnings = async (
  {apiCert, nodeCert, caKey, tls}: DataFolder,
  {config}: Pick<LoadedConfig, 'config'>,
  nowMs: number,
): Promise<string[]> => {
  if (await stat(caKey).catch(() => undefined)) return [];
  const wayOut = `start the node that has tls/ca.key, or put that file into ${tls} for one start`;
  const warning = async (file: string, consequence: string): Promise<string[]> => {
    const end = await endOf(file);
    if (!end || end.getTime() > nowMs + warnedMs) return [];
    const day = end.toISOString().slice(0, 10);
    if (end.getTime() > nowMs) return [`${file} expires on ${day} and has not been renewed; then ${consequence}; ${wayOut}`];
    return [`${file} expired on ${day}: ${consequence}; ${wayOut}`];
  };
  return [
    ...(await warning(nodeCert, 'the node is cut off from the cluster, while mail goes on')),
    ...(config.api.cert_file === undefined ? await warning(apiCert, 'clients of the API refuse it') : []),
  ];
};

/** Undefined when there is no certificate, as before the node is created. */
const endOf = async (file: string): Promise<Date | undefined> => {
  try {
    return expiryOf({cert: await readFile(file, 'utf8')});
  } catch {
    return undefined;
  }
};
