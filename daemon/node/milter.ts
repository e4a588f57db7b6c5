// Milter of a node, wired to its services.
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {formatLocalAddress, type LocalAddress, type LocalListener} from '../mail/local-listener.ts';
import {startMilterServer} from '../mail/milter/milter-server.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Services} from './services.ts';

interface Needs {
  listen: LocalAddress;
  config: Config;
  settings(): LiveSettings;
  metrics: Metrics;
  log: Logger;
  services: Pick<Services, 'milterIntake' | 'sign'>;
  tmpDir: string;
  graceMs: number;
}

export const openMilter = async (needs: Needs): Promise<LocalListener> => {
  const {listen, config, services, tmpDir, graceMs, settings, metrics, log} = needs;
  const server = await startMilterServer({
    listen,
    maxSize: config.smtp.max_size,
    maxConnections: config.smtp.max_connections,
    tmpDir,
    drainMs: graceMs,
    isTrusted: ip => settings().trusted.contains(ip),
    log,
    intake: {...services.milterIntake, sign: services.sign, recordVerdict: metrics.verdict},
  });
  log.info({address: formatLocalAddress(server.address)}, 'milter open');
  return {address: server.address, stop: server.stop};
};
