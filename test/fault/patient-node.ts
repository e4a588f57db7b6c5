import type {ClusterNode} from '../helpers/cluster.ts';

/**
 * A node whose callers ask again when a kept connection was closed as idle just as they used it. Nothing of the request was read
 * then (RFC 9112 section 9.5), and on a busy machine it happens to everybody.
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
