// Translator from failures of HTTP and TLS to the errors of mfctl.

import type {IncomingHttpHeaders} from 'node:http';
import type {ErrorValue} from '../../shared/envelope.ts';
import {type FaultCode, statusOfCode} from '../../shared/fault.ts';
import type {BulkResult} from '../../shared/held-mail.ts';
import {nodeUriPrefix} from '../../shared/node-uri.ts';
import {connectionReason} from '../../shared/system-error.ts';
import {CliError, type ExitCode, exitCodes} from '../errors.ts';
import {isForGood} from './retry.ts';

export interface FailedAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  url: URL;
  /** Translates the detail. */
  words?: (detail: string) => string;
}

export const answerFailure = ({status, headers, body, url, words = inMfctlWords}: FailedAnswer): CliError => {
  const error = errorValue(body);
  const requestId = error?.request_id ?? headers['x-request-id']?.toString();
  const retryAfterSeconds = secondsUntil(headers['retry-after']);
  if (!error)
    return new CliError(`http_${status}`, `${url.origin} answered ${status}, and not as mfd does`, {
      exitCode: exitCodeOf(status),
      hint: 'check the address: mfctl context list',
      requestId,
      retryAfterSeconds,
    });
  return new CliError(error.code, words(error.detail), {
    exitCode: isWrongUsage(error.code) ? exitCodes.usage : exitCodeOf(status),
    hint: hintOf(error, retryAfterSeconds, url.pathname),
    fields: error.fields,
    requestId,
    retryAfterSeconds,
  });
};

/** The failure of one of many, as its own request would have had it. */
export const resultFailure = (error: Extract<BulkResult, {error: object}>['error'], path: string): CliError =>
  new CliError(error.code, inMfctlWords(error.detail), {
    exitCode: isWrongUsage(error.code) ? exitCodes.usage : exitCodeOf(statusOfCode[error.code as FaultCode]),
    hint: hintOf({...error, request_id: ''}, undefined, path),
    fields: error.fields,
  });

/** What was typed is wrong, whichever side finds it. */
const isWrongUsage = (code: string): boolean => ['invalid_parameter', 'validation_failed', 'malformed_json'].includes(code);

/** Retry-After has seconds or a date (RFC 9110 section 10.2.3). */
const secondsUntil = (retryAfter: string | undefined): number | undefined => {
  if (retryAfter === undefined || /^\d{1,9}$/.test(retryAfter)) return retryAfter === undefined ? undefined : Number(retryAfter);
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
};

/** `caSource` is the file of the authority that alone is trusted, and what named it. */
export const connectionFailure = (error: unknown, url: URL, caSource?: string): CliError => {
  const {code = 'unknown', trusted} = error as ConnectionError;
  const failure = (name: string, detail: string, hint: string) =>
    new CliError(name, detail, {exitCode: exitCodes.unreachable, hint, cause: error});

  if (isOfNodePort(error as ConnectionError)) return nodePortFailure(url, error);
  if (untrusted.has(code) && trusted !== undefined)
    return failure(
      'tls_changed',
      `${url.host} shows a certificate that is not of the authority trusted at login (${trusted}); the key was not sent`,
      `find out why: a cluster that was created again has a new one (mfctl login ${url.origin}), or somebody intercepts the connection`,
    );
  if (untrusted.has(code) && caSource !== undefined)
    return failure(
      'tls_untrusted',
      `the CA in ${caSource} did not sign the certificate of ${url.host}`,
      `name the CA of this cluster; or look at the certificate and trust it: mfctl login ${url.origin}`,
    );
  if (untrusted.has(code))
    return failure(
      'tls_untrusted',
      `the certificate of ${url.host} is signed by nobody this machine trusts`,
      `name the CA of the cluster: --cacert FILE; or look at it and trust it: mfctl login ${url.origin}`,
    );
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return failure(
      'tls_wrong_name',
      `the certificate of ${url.host} is for another name`,
      'use the name that the certificate has in --url',
    );
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return failure(
      'tls_expired',
      `the certificate of ${url.host} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}; the key was not sent`,
      code === 'CERT_HAS_EXPIRED' ? endedHint : clocksHint,
    );
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS'))
    return failure(
      'tls_failed',
      `${url.host} does not speak TLS as the API does`,
      'check the port: the API listens on 8443 by default; 8444 is for traffic between nodes',
    );
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return failure('unknown_host', `no address is known for ${url.hostname}`, 'check the address: mfctl context list');
  if (code === 'ETIMEDOUT')
    return failure(
      'timeout',
      `${url.host} did not answer in time`,
      'repeat it; if it creates something, check first whether that exists already',
    );
  return failure(
    'unreachable',
    `cannot reach ${url.host}: ${connectionReason(error as Error)}`,
    ['ECONNRESET', 'EPIPE'].includes(code)
      ? 'check the port: the API listens on 8443 by default; 8444 is the port between nodes'
      : 'is mfd running there? mfd start --data DIR',
  );
};

interface ConnectionError extends NodeJS.ErrnoException {
  /** The fingerprint of the authority that was trusted at login. */
  trusted?: string;
  /** The names in the certificate that the server showed. */
  shownNames?: string;
  /** Set by Node when it is for another name. */
  cert?: {subjectaltname?: string};
}

const isOfNodePort = ({shownNames, cert}: ConnectionError): boolean => isNodeCertificate(shownNames ?? cert?.subjectaltname);

/** By its subject alternative names. The API's certificate does not say which node it is of. */
export const isNodeCertificate = (names = ''): boolean => names.includes(`URI:${nodeUriPrefix}`);

export const nodePortFailure = (url: URL, cause?: unknown): CliError =>
  new CliError('unreachable', `${url.host}: ${url.port || 443} is the port between nodes, not that of the API`, {
    exitCode: exitCodes.unreachable,
    hint: 'name the port of the API: api.listen in mfd.yaml, 8443 by default',
    cause,
  });

export const clocksHint = 'compare the clocks of both machines';
export const endedHint = `${clocksHint}; if they are right, ask another node for now. A certificate from the cluster is renewed once the node that has tls/ca.key runs, or with that file in tls/ of this node for one start; one of your own (api.cert_file) is yours to replace`;

const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

const exitCodeOf = (status: number): ExitCode => {
  if (status === 401 || status === 403) return exitCodes.notAuthorised;
  if (status === 404) return exitCodes.notFound;
  return status === 429 || status === 503 || status === 504 ? exitCodes.unreachable : exitCodes.failed;
};

const errorValue = (body: Buffer): ErrorValue | undefined => {
  try {
    const {error} = JSON.parse(body.toString('utf8')) as {error?: ErrorValue | null};
    if (typeof error?.code !== 'string' || typeof error.detail !== 'string') return undefined;
    const {fields, required_scopes: scopes, request_id: id, ...known} = error;
    return {
      ...known,
      ...(typeof id === 'string' && {request_id: id}),
      ...(isListOf(fields, isField) && {fields}),
      ...(isListOf(scopes, isText) && {required_scopes: scopes}),
    } as ErrorValue;
  } catch {
    return undefined;
  }
};

const isText = (value: unknown): boolean => typeof value === 'string';

const isField = (value: unknown): boolean => {
  const {path, detail} = (value ?? {}) as {path?: unknown; detail?: unknown};
  return isText(path) && isText(detail);
};

const isListOf = (value: unknown, isEntry: (entry: unknown) => boolean): boolean => Array.isArray(value) && value.every(isEntry);

const conflictHint = (path: string): string | undefined => {
  if (path.includes('/auth/api-keys/')) return 'make another full-admin key first, or repeat with --force';
  // The detail says what to set.
  return path.endsWith('/train') ? undefined : listCommand(path);
};

/** Where the reason is told. The status of the cluster needs the store as well. */
const reasonPlace = (path: string): string =>
  path.endsWith('/cluster/status') ? 'the log of mfd on that node says why' : 'mfctl cluster status';

const hintOf = (error: ErrorValue, wait: number | undefined, path: string): string | undefined => {
  switch (error.code) {
    case 'key_missing':
      return 'give a key: --api-key-file FILE, MFCTL_API_KEY, or mfctl context add NAME --api-key-file FILE …';
    case 'key_invalid':
    case 'key_revoked':
    case 'key_expired':
      return 'use another key: mfctl context list, mfctl context add NAME --api-key-file FILE …';
    case 'insufficient_scope':
      return `mfctl whoami shows what this key may do${scopesHint(error)}`;
    case 'not_found':
      return listCommand(path);
    case 'unknown_node':
    case 'node_unreachable':
      return 'mfctl cluster status';
    case 'rate_limited':
      return wait ? `repeat it in ${wait} s` : 'repeat it in a minute';
    case 'unavailable':
      if (wait !== undefined && isForGood(wait)) return otherNode;
      return [wait && `repeat it in ${wait} s`, reasonPlace(path)].filter(Boolean).join('; ');
    case 'node_removed':
      return otherNode;
    case 'outcome_unknown':
      return 'repeat it: that is safe';
    case 'delivery_failed':
      return 'the mail is still held; repeat it once its server takes mail again';
    case 'precondition_failed':
      return 'somebody changed it meanwhile; run the same command again';
    case 'conflict':
      return conflictHint(path);
    case 'internal':
      return 'the log of the node says more under this request id';
    case 'malformed_json':
    case 'invalid_parameter':
    case 'method_not_allowed':
    case 'payload_too_large':
    case 'unsupported_media_type':
    case 'validation_failed':
      return undefined;
    default:
      // A newer node may have codes that this program does not know.
      error.code satisfies never;
      return undefined;
  }
};

/** Nodes name the scopes in the detail, too. */
const scopesHint = ({detail, required_scopes: scopes = []}: ErrorValue): string => {
  const text = scopes.join(' or ');
  return text === '' || detail.includes(text) ? '' : `; this needs ${text}`;
};

const otherNode = 'waiting does not help; ask another node: mfctl context list, or --url URL';

const listCommand = (path: string): string | undefined => {
  if (path.includes('/dkim-keys')) return 'mfctl domain dkim list DOMAIN';
  if (path.includes('/domains')) return path.includes('/filters') ? 'mfctl domain filters list DOMAIN' : 'mfctl domain list';
  if (path.includes('/filters')) return 'mfctl filter list';
  if (path.includes('/auth/api-keys')) return 'mfctl key list';
  if (path.includes('/mail/trace'))
    return 'mfctl trace find --recipient ADDRESS; entries are kept for events.keep_days of mfd.yaml';
  return path.includes('/mail/quarantine') ? 'mfctl quarantine list' : undefined;
};

const otherVersion = 'this node does not know this request; it may run another version than this mfctl';

const translations: readonly (readonly [ofApi: RegExp, ofMfctl: string])[] = [
  // The hint of the error names the command.
  [/; GET \/\S+ lists (?:them|the nodes)$/, ''],
  [/\bGET \/mail\/quarantine shows\b/, 'mfctl quarantine list shows'],
  [/\bchange it with PUT\b/, 'change it with mfctl domain update'],
  [/\?force=true\b/, '--force'],
  [/\bwithout strict=true\b/, 'without --strict'],
  [/^send an API key in the X-API-Key header$/, 'no API key was given'],
  [/^there is nothing at this path\b.*$/, otherVersion],
  [/^[A-Z]+ is not possible here$/, otherVersion],
  [/\bmatch sender_domain for all\b/, 'use --sender-domain for all'],
];

/** Translates error texts of the API, which name requests, into commands and options. `mfctl api` keeps them: its users typed the request. */
export const inMfctlWords = (detail: string): string =>
  translations.reduce((text, [ofApi, ofMfctl]) => text.replace(ofApi, () => ofMfctl), detail);
