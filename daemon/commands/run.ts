// `mfd start`: runs a node until a signal ends it.
import {setFlagsFromString} from 'node:v8';
import type {Logger} from 'pino';
import {formatHostPort} from '../../shared/host-port.ts';
import {type LoadedConfig, loadConfig, located} from '../config/load.ts';
import {formatLocalAddress} from '../mail/local-listener.ts';
import {dataFolder} from '../node/data-folder.ts';
import {createLog, isJournal} from '../node/log.ts';
import {type RunningNode, startNode} from '../node/node.ts';
import {createServiceManager, type ServiceManager} from '../node/service-manager.ts';
import {openCommonStore, requireOwnStore} from './store-options.ts';

interface Needs {
  data: string;
  /** Its MFD_* variables override the configuration, at the start and at every SIGHUP. */
  environment: NodeJS.ProcessEnv;
  version: string;
  beforeReady?: (node: RunningNode) => Promise<void>;
}

/** Resolves after a SIGTERM or SIGINT, once everything is closed. */
export const run = async ({data, environment, version, beforeReady}: Needs): Promise<void> => {
  const folder = dataFolder(data);
  const reread = async () => loadConfig(folder.config, environment);
  const loaded = await reread();
  const store = await requireOwnStore(folder, loaded);
  const log = createLog(loaded.config.log, {isForJournal: isJournal(environment), isTerminal: process.stderr.isTTY === true});
  for (const variable of loaded.unknownVariables) log.warn({variable}, 'this MFD_ variable names no configuration key');
  const manager = createServiceManager({environment, log});
  const ended = new Promise<NodeJS.Signals>(resolve => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve);
  });
  // Registered at once: a SIGHUP without a listener ends the process.
  const starting = startNode({
    data,
    loaded,
    log,
    version,
    ...(store && {openCommon: async () => openCommonStore(folder, store)}),
  });
  const reload = () => void rereadInto(starting, reread, {log, manager});
  process.on('SIGHUP', reload);
  const node = await starting.catch(error => {
    throw located(loaded, error);
  });

  await beforeReady?.(node);
  process.stdout.write(`mfd ready ${summary(node)}\n`);
  manager.notify('READY=1', `STATUS=${summary(node)}`);
  // See bin/mfd.
  setFlagsFromString('--semi-space-growth-factor=2');
  const signal = await ended;
  log.info({signal}, 'stopping');
  manager.notify('STOPPING=1', 'STATUS=finishing current work');
  process.off('SIGHUP', reload);
  await node.stop();
  await manager.settled();
  log.info('stopped');
};

const summary = ({nodeId, addresses: {api, cluster, metrics, smtp, milter, socketmap}}: RunningNode): string =>
  [
    `node=${nodeId}`,
    `api=https://${formatHostPort(api)}`,
    `cluster=https://${formatHostPort(cluster)}`,
    `metrics=http://${formatHostPort(metrics)}`,
    `smtp=${formatHostPort(smtp)}`,
    ...(milter ? [`milter=${formatLocalAddress(milter)}`] : []),
    ...(socketmap ? [`socketmap=${formatLocalAddress(socketmap)}`] : []),
  ].join(' ');

const rereadInto = async (
  starting: Promise<RunningNode>,
  reread: () => Promise<LoadedConfig>,
  {log, manager}: {log: Logger; manager: ServiceManager},
): Promise<void> => {
  // The caller that awaits `starting` reports a failed start.
  const node = await starting.catch(() => undefined);
  if (!node) return;
  manager.notify('RELOADING=1', 'STATUS=rereading the configuration');
  let problem = '';
  try {
    await node.reload(await reread());
  } catch (error) {
    problem = 'configuration not applied, see the log: ';
    log.error({err: error}, 'configuration not applied; the node keeps the one it has');
  }
  manager.notify('READY=1', `STATUS=${problem}${summary(node)}`);
};
