import type {ClusterNode} from '../helpers/cluster.ts';

/**
 * A node whose clients retry when a kept connection was closed as idle just as they used it. The server has not read anything of
 * the request then (RFC 9112 section 9.5), and on a busy machine it happens to every client.
 */
export const patient = (node: ClusterNode): ClusterNode => ({
  ...node,
  api: async (...request: Parameters<ClusterNode['api']>) =>
    node.api(...request).catch(async error => {
      if (!isReset(error)) throw error;
      return node.api(...request);
    }),
});

const isReset = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
