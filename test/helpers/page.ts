// The pages for recipients as a client without a browser sees them.
import {readFile} from 'node:fs/promises';
import type {IncomingHttpHeaders} from 'node:http';
import {request} from 'node:https';

export interface Page {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface PageRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export const form = {'Content-Type': 'application/x-www-form-urlencoded'};
export const button = {method: 'POST', headers: {...form, 'Sec-Fetch-Site': 'same-origin', Origin: 'null'}, body: 'do=release'};

/** Requests of pages, over TLS with the authority in this file. */
export const pageClient =
  (caFile: string) =>
  async (url: string, {method = 'GET', headers = {}, body}: PageRequest = {}): Promise<Page> => {
    const ca = await readFile(caFile, 'utf8');
    return new Promise((resolve, reject) => {
      const sent = request(url, {method, headers, ca, agent: false}, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString()}),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  };
