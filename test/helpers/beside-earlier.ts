// A node of this version beside one of an earlier release, as in an upgrade of one node after the other.
import {type ClusterNode, startCluster} from './cluster.ts';
import type {Owner} from './daemon.ts';
import {mfdFile} from './node.ts';
import {buildRelease, type Release} from './released-build.ts';

/** Both began with the earlier release; alpha has been upgraded, and beta has not. */
export const startBesideEarlier = async (t: Owner, release: Release) => {
  const former = await buildRelease(t, release);
  const {nodes, converged} = await startCluster(t, {
    nodes: ['alpha', 'beta'],
    isProxied: false,
    program: former,
    maker: former,
  });
  const upgrade = async (node: ClusterNode): Promise<void> => {
    await node.stop();
    node.runWith(mfdFile);
    await node.start();
  };
  await upgrade(nodes.alpha);
  return {...nodes, converged, upgrade};
};
