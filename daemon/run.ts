// `mfd start`: a node until a signal ends it.
import type {Logger} from 'pino';
import {formatHostPort} from '../shared/host-port.ts';
import {type LoadedConfig, loadConfig, located} from './config/load.ts';
import {dataFolder} from './data-folder.ts';
import {createLog} from './log.ts';
import {formatLocalAddress} from './mail/local-listener.ts';
import {type RunningNode, startNode} from './node.ts';

interface Needs {
  data: string;
  /** Whose MFD_* variables override the configuration, now and at every SIGHUP. */
  environment: NodeJS.ProcessEnv;
  version: string;
  beforeReady?: (node: RunningNode) => void;
}

/** Resolves after a SIGTERM or SIGINT, once everything is closed. */
export const run = async ({data, environment, version, beforeReady}: Needs): Promise<void> => {
  const folder = dataFolder(data);
  const reread = async () => loadConfig(folder.config, environment);
  const loaded = await reread();
  const log = createLog(loaded.config.log.level);
  for (const variable of loaded.unknownVariables) log.warn({variable}, 'this MFD_ variable names no configuration key');

  const ended = new Promise<NodeJS.Signals>(resolve => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve);
  });
  // From the first moment: a SIGHUP nobody listens for ends the process.
  const starting = startNode({data, loaded, log, version});
  const reload = () => void rereadInto(starting, reread, log);
  process.on('SIGHUP', reload);
  const node = await starting.catch(error => {
    throw located(loaded, error);
  });

  beforeReady?.(node);
  process.stdout.write(`${readyLine(node)}\n`);
  const signal = await ended;
  log.info({signal}, 'stopping');
  process.off('SIGHUP', reload);
  await node.stop();
  log.info('stopped');
};

const readyLine = ({nodeId, addresses: {api, cluster, metrics, smtp, milter, socketmap}}: RunningNode): string =>
  [
    `mfd ready node=${nodeId}`,
    `api=https://${formatHostPort(api)}`,
    `cluster=https://${formatHostPort(cluster)}`,
    `metrics=http://${formatHostPort(metrics)}`,
    `smtp=${formatHostPort(smtp)}`,
    ...(milter ? [`milter=${formatLocalAddress(milter)}`] : []),
    ...(socketmap ? [`socketmap=${formatLocalAddress(socketmap)}`] : []),
  ].join(' ');

const rereadInto = async (node: Promise<RunningNode>, reread: () => Promise<LoadedConfig>, log: Logger): Promise<void> => {
  try {
    await (await node).reload(await reread());
  } catch (error) {
    log.error({err: error}, 'configuration not taken over; the node goes on with the one it has');
  }
};
