import {type Command, InvalidArgumentError} from 'commander';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import {parseDuration} from '../command-line/moment.ts';
import {wholeNumber} from '../command-line/option-values.ts';
import {CliError, checkStatuses, ExitStatus, exitCodes} from '../errors.ts';
import type {Session} from '../session.ts';
import {type CheckLimits, defaultLimits} from './cluster-findings.ts';
import {checkLine, judgeCluster, type Verdict} from './cluster-verdict.ts';

interface CheckFlags {
  backlog: number;
  driftAge: number;
  timeout: number;
}

export const addCheckCommand = (cluster: Command, session: Session): void => {
  cluster
    .command('check')
    .description('check the cluster as a monitoring plugin does')
    .option(
      '--backlog <number>',
      'warn when more changes of a node than this are not applied yet',
      wholeNumber,
      defaultLimits.backlog,
    )
    .option(
      '--drift-age <seconds>',
      'critical when configurations differ for longer than this',
      seconds,
      defaultLimits.driftAgeSeconds,
    )
    .option('--timeout <seconds>', 'critical when the node has not answered after this', timeoutSeconds, 10)
    .addHelpText('after', help)
    .action((flags: CheckFlags) => check(session, flags));
};

const help = `
It prints one line, with figures after the bar, whatever -o says, and has its own exit statuses:
  0 OK        every node is online
  1 WARNING   a node is stale, has a backlog, no valid licence, or a clock that
              is off by 30 seconds, or no node has tls/ca.key; a backend of a
              domain, the name servers or Postfix do not answer, or the scanner
              does not while mail passes without it (scanner.on_failure: pass)
  2 CRITICAL  a node is offline or cut off, or its clock off by a day,
              configurations differ, a node answers mail with 451 because its
              scanner or its store does not work, or no node answers
  3 UNKNOWN   wrong usage, rate-limited, or the key does not permit it
Times are seconds, or durations such as 10m. A node is stale after a minute without a heartbeat, and offline after five.

Examples:
  mfctl cluster check
  mfctl cluster check --backlog 500 --drift-age 20m`;

const check = async (session: Session, {backlog, driftAge, timeout}: CheckFlags): Promise<void> => {
  const startedAt = performance.now();
  // A failure before the first request is wrong usage.
  const client = await session.clientFor(await session.connection());
  const limits = {backlog, driftAgeSeconds: driftAge};
  const verdict = await client.cluster.status({withinMs: timeout * 1000}).then(({data}) => judge(data, limits), verdictOfFailure);
  const time = {label: 'time', value: (performance.now() - startedAt) / 1000, unit: 's', criticalAbove: timeout} as const;
  session.terminal.stdout.write(checkLine({...verdict, figures: [...verdict.figures, time]}));
  throw new ExitStatus(verdict.status);
};

const judge = (status: ClusterStatus, limits: CheckLimits): Verdict => {
  try {
    return judgeCluster(status, limits);
  } catch {
    return {status: checkStatuses.critical, text: 'the answer is not that of an mfd node', figures: []};
  }
};

/** A refused or rate-limited request says nothing about the cluster. */
const verdictOfFailure = (error: unknown): Verdict => {
  if (!(error instanceof CliError)) throw error;
  const {code, detail, hint, exitCode} = error;
  const isUnknown = exitCode === exitCodes.notAuthorised || exitCode === exitCodes.usage || code === 'rate_limited';
  return {
    status: isUnknown ? checkStatuses.unknown : checkStatuses.critical,
    text: `${detail} (${code})${code === 'tls_expired' ? `; ${hint}` : ''}`,
    figures: [],
  };
};

const seconds = (text: string): number => {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Must be seconds, or a duration such as 10m.');
  return ms / 1000;
};

const timeoutSeconds = (text: string): number => {
  const limit = seconds(text);
  if (limit === 0 || limit > 86_400) throw new InvalidArgumentError('Must be 1 second to 1 day.');
  return limit;
};
