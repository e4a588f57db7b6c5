// What `mfd check-config` checks, and what is checked before a node is made.
import {type LoadedConfig, located} from './config/load.ts';
import type {DataFolder} from './data-folder.ts';
import {liveSettings} from './settings.ts';
import {apiCertificate} from './tls-files.ts';

/** Throws a ConfigError for what a look at the text alone does not show. */
export const checkConfig = async (folder: DataFolder, loaded: LoadedConfig): Promise<void> => {
  try {
    liveSettings(loaded).closeScorer();
    if (loaded.config.api.cert_file !== undefined) await apiCertificate(folder, loaded.config, Date.now());
  } catch (error) {
    throw located(loaded, error);
  }
};
