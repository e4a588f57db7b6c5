// One request to a node's API, over real HTTPS.
import type {IncomingHttpHeaders} from 'node:http';
import {type Agent, request} from 'node:https';

export interface ApiAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The parsed JSON envelope, or undefined for another type. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: {data: any; error: any; message: string};
  body: Buffer;
}

/** The fields that are wrong in a request, in alphabetical order. */
export const pathsOf = ({json}: ApiAnswer): string[] => json.error.fields.map(({path}: {path: string}) => path).sort();

export interface ApiRequest {
  /** A string or bytes go out as they are, anything else as JSON. */
  body?: unknown;
  /** Undefined: the node's first key. Null: none. */
  key?: string | null;
  headers?: Record<string, string>;
  /**
   * The address of this machine from which the request is sent, over a connection that is not kept: a node ends old ones without a
   * key when there are more than 500.
   */
  from?: string;
}

export const callApi = async (
  agent: Agent,
  {api_url, api_key}: {api_url: string; api_key: string},
  {method, path, body, key = api_key, headers = {}, from}: ApiRequest & {method: string; path: string},
): Promise<ApiAnswer> => {
  const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const url = `${api_url}/api/v1/${path.replace(/^\//, '')}`;
    const all = {
      ...(key !== null && {'X-API-Key': key}),
      ...(bytes !== undefined && {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(bytes))}),
      ...(from !== undefined && {Connection: 'close'}),
      ...headers,
    };
    const sent = request(url, {method, agent, headers: all, ...(from !== undefined && {localAddress: from})}, response => {
      // The event stream has no end: waiting for its first bytes is enough.
      if (String(response.headers['content-type']).startsWith('text/event-stream')) {
        resolve({status: response.statusCode ?? 0, headers: response.headers, json: undefined as never, body: Buffer.alloc(0)});
        response.destroy();
        return;
      }
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const received = Buffer.concat(chunks);
        const isJson = String(response.headers['content-type']).startsWith('application/json');
        const json = (isJson && received.length > 0 ? JSON.parse(received.toString()) : undefined) as ApiAnswer['json'];
        resolve({status: response.statusCode ?? 0, headers: response.headers, json, body: received});
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
};
