// What `mfd check-config` checks, and what is checked before a node is made.
import {type LoadedConfig, located} from './config/load.ts';
import {liveSettings} from './settings.ts';
import {operatorPair} from './tls-files.ts';

/** Throws a ConfigError for what a look at the text alone does not show. */
export const checkConfig = async (loaded: LoadedConfig): Promise<void> => {
  try {
    liveSettings(loaded).closeScorer();
    await operatorPair(loaded.config);
  } catch (error) {
    throw located(loaded, error);
  }
};
