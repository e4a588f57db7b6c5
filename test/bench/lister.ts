// A client that requests lists over one kept-alive HTTPS connection per concurrent request, and does not parse the bytes of the
// answer.
import {type Agent, request} from 'node:https';

interface Listed {
  total: number;
  body: Buffer;
}

/** Rejects for every incomplete answer. */
export type Lister = (query?: string) => Promise<Listed>;

export interface ListerNeeds {
  agent: Agent;
  url: string;
  headers?: Record<string, string>;
}

export const createLister =
  ({agent, url, headers = {}}: ListerNeeds): Lister =>
  async (query = 'limit=100') =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}?${query}`, {agent, headers}, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          const missing = response.headers['x-unreachable-nodes'];
          if (response.statusCode !== 200 || missing !== undefined)
            reject(new Error(`${query}: ${response.statusCode}, without ${missing ?? 'nobody'}: ${body.subarray(0, 300)}`));
          else resolve({total: Number(response.headers['x-total-count']), body});
        });
      });
      sent.on('error', reject);
      sent.end();
    });
