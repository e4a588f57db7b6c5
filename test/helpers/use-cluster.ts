import type {ExecutionContext} from 'ava';
import {type ClusterOptions, startCluster, type ThreeNodes} from './cluster.ts';
import {forFile} from './for-file.ts';

/**
 * One cluster of three nodes for all tests of a file. Each test starts with all lines intact and all nodes in agreement, and
 * leaves the lines intact.
 */
export const useCluster = (options: ClusterOptions<ThreeNodes> = {}) => {
  const cluster = forFile(async owner => startCluster(owner, options));
  return async (t: ExecutionContext) => {
    const {nodes, ...rest} = cluster();
    t.teardown(rest.heal);
    rest.heal();
    await rest.converged();
    return {...rest, ...nodes, all: Object.values(nodes)};
  };
};
