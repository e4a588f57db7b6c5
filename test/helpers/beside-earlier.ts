// Nodes of an earlier release beside one of this version, as in an upgrade of one node after the other.
import test, {type ExecutionContext} from 'ava';
import {type ClusterNode, type ClusterOptions, startCluster} from './cluster.ts';
import type {Owner} from './daemon.ts';
import {attemptJoin} from './join-attempt.ts';
import {mfdFile} from './node.ts';
import {buildRelease, type Release, releaseMissing, releases} from './released-build.ts';

/** A test with each release of 0.8; skipped where `missing` or the release says that something is not there. */
export const testBesideEarlier = (
  titleOf: (version: string) => string,
  run: (t: ExecutionContext, release: Release) => Promise<void>,
  missingOf = releaseMissing,
): void => {
  for (const release of releases.filter(({version}) => version.startsWith('0.8.'))) {
    const missing = missingOf(release);
    const title = titleOf(release.version);
    (missing === undefined ? test : test.skip)(
      missing === undefined ? title : `[${release.version}] ${missing}: ${title}`,
      async t => run(t, release),
    );
  }
};

/** Both nodes, alpha and beta, run the earlier release; `upgrade` starts one of them with this version. */
export const startEarlier = async (
  t: Owner,
  release: Release,
  options: Pick<ClusterOptions<string>, 'config' | 'postgres'> = {},
) => {
  const former = await buildRelease(t, release);
  const {nodes, converged, sink} = await startCluster(t, {
    nodes: ['alpha', 'beta'],
    isProxied: false,
    program: former,
    maker: former,
    ...options,
  });
  const upgrade = async (node: ClusterNode): Promise<void> => {
    await node.stop();
    node.runWith(mfdFile);
    await node.start();
  };
  return {...nodes, converged, sink, upgrade};
};

/** Alpha has been upgraded, and beta has not. */
export const startBesideEarlier = async (...wanted: Parameters<typeof startEarlier>) => {
  const started = await startEarlier(...wanted);
  await started.upgrade(started.alpha);
  return started;
};

/** A node of the earlier release asks to join. */
export const attemptEarlierJoin = async (t: ExecutionContext, release: Release, token: string, nodeId: string) =>
  attemptJoin(t, token, {nodeId, program: await buildRelease(t, release)});
