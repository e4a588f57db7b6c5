// Whether the address of the pages for recipients leads to these pages, as a recipient's browser would ask.
import {type RequestOptions, request as requestPlain} from 'node:http';
import {request} from 'node:https';
import type {TLSSocket} from 'node:tls';
import {pageHeaders} from './page.ts';

const answerMs = 10_000;

/** Faults of a certificate that no authority of a company mends. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** Resolves with why not; with undefined when it does. Who signed the certificate is not asked: browsers may know what this node does not. */
export const pagesFault = async (url: string): Promise<string | undefined> => {
  const options: RequestOptions & {rejectUnauthorized: boolean} = {
    ...{method: 'HEAD', timeout: answerMs, agent: false, rejectUnauthorized: false},
    signal: AbortSignal.timeout(answerMs),
  };
  const send = url.startsWith('https:') ? request : requestPlain;
  return new Promise(resolve => {
    // Where there is no page.
    const asked = send(`${url}/m/`, options, response => {
      response.resume();
      const {authorizationError} = response.socket as Partial<TLSSocket>;
      const name = (authorizationError as {code?: string} | undefined)?.code ?? String(authorizationError);
      const isPage = response.statusCode === 404 && response.headers['referrer-policy'] === pageHeaders['Referrer-Policy'];
      resolve(
        certificateFaults[name] ?? (isPage ? undefined : `${url} answers ${response.statusCode}, which no page of mfd does`),
      );
    });
    asked.on('error', error => resolve(`${url}: ${error.message}`));
    asked.end();
  });
};
