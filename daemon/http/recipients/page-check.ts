// Whether the address of the pages for recipients leads to these pages, as a recipient's browser would ask.
import {type RequestOptions, request} from 'node:https';
import {checkServerIdentity, type TLSSocket} from 'node:tls';
import {connectionReason} from '../../../shared/system-error.ts';
import {pageHeaders} from './page.ts';

const answerMs = 10_000;

/** Resolves with why not; with undefined when it does. `url`: https, without a path. */
export const pagesFault = async (url: string): Promise<string | undefined> => {
  const options: RequestOptions = {
    ...{method: 'HEAD', timeout: answerMs, agent: false, rejectUnauthorized: false},
    signal: AbortSignal.timeout(answerMs),
  };
  return new Promise(resolve => {
    // No link has this address, so the pages answer 404.
    const asked = request(`${url}/m/`, options, response => {
      response.resume();
      const {statusCode, headers, socket} = response;
      const isPage = statusCode === 404 && headers['referrer-policy'] === pageHeaders['Referrer-Policy'];
      const answered = isPage ? undefined : `${url} answers ${statusCode}, which no page of mfd does`;
      resolve(certificateFault(url, socket as TLSSocket) ?? answered);
    });
    asked.on('error', error => resolve(`${url}: ${connectionReason(error)}`));
    asked.end();
  });
};

/** Its date and its name, which no authority of a company mends. Who signed it is not asked: browsers may know what this node does not. */
const certificateFault = (url: string, socket: TLSSocket): string | undefined => {
  const certificate = socket.getPeerCertificate();
  if (Date.parse(certificate.valid_to) < Date.now()) return 'its certificate has expired';
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return checkServerIdentity(host, certificate) && 'its certificate is for another name';
};
