import type {Domain} from '../../shared/domain.ts';
import type {TestNode} from '../helpers/node.ts';

/** Creates example.com, with the thresholds of `fields`. `backend`: host and port of its mail server. */
export const createExampleDomain = async (
  {api}: Pick<TestNode, 'api'>,
  backend: string,
  fields: Partial<Domain>,
): Promise<void> => {
  const made = await api('POST', 'domains', {body: {name: 'example.com', backend_servers: [backend], ...fields}});
  if (made.status !== 201) throw new Error(`POST /domains: ${made.status} ${made.body}`);
};
