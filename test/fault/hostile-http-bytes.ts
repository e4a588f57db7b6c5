// Bytes that are not HTTP, or HTTP that two parsers would read differently.
import type {Random} from './random.ts';

const requestLines = [
  'GET /api/v1/auth/me HTTP/1.1',
  'GET /api/v1/auth/me HTTP/1.1',
  'POST /api/v1/domains HTTP/1.1',
  'GET /api/v1/openapi.yaml HTTP/1.1',
  'GET /api/v1/auth/me HTTP/1.0',
  'GET /api/v1/auth/me HTTP/2.0',
  'GET /api/v1/auth/me HTTP/1.9',
  'GET /api/v1/auth/me',
  'GET  /api/v1/auth/me  HTTP/1.1',
  'get /api/v1/auth/me HTTP/1.1',
  'GET https://127.0.0.1/api/v1/auth/me HTTP/1.1',
  'GET http://[::1/api/v1/auth/me HTTP/1.1',
  'GET //evil.test/api/v1/auth/me HTTP/1.1',
  'GET /api/v1/../../etc/passwd HTTP/1.1',
  'GET /api/v1/\u0000 HTTP/1.1',
  'GET /api/v1/\u00ff\u00fe HTTP/1.1',
  'GET * HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT example.com:443 HTTP/1.1',
  'PRI * HTTP/2.0\r\n\r\nSM',
  'HELO there',
  '\x16\x03\x01',
  ' ',
  '',
];

const hosts = [
  'Host: 127.0.0.1',
  'Host: 127.0.0.1',
  'Host: 127.0.0.1',
  'Host: a\r\nHost: b',
  'Host:',
  'Host: \u0000',
  'host : x',
  'X: y',
];

const oddHeaders = [
  'Content-Length: 5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 0x5',
  'Content-Length: 99999999999999999999',
  'Content-Length: 5, 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  'X: a\r\n folded',
  'X: a\nY: b',
  'X: a\rY: b',
  'X:\u0000',
  'no colon',
  ': no name',
  'X Y: z',
  'Expect: 100-continue',
  'Expect: 200-maybe',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  'Connection: close',
  'Connection: keep-alive, close, x',
  'Trailer: X-API-Key',
  'Content-Encoding: gzip',
  'Range: bytes=0-0,-1',
  'X-API-Key: mfk_\u0000',
  'X-API-Key: mfk_x\r\nX-API-Key: mfk_y',
  'Cookie: a=b',
  '__proto__: x',
  'constructor: x',
];

const bodies = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;ext="x"\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  'fffffffffffffffff\r\nx',
  '-1\r\nx',
  '0x5\r\nhello\r\n0\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '5\r\nhello0\r\n\r\n',
  '0\r\nX-API-Key: mfk_x\r\n\r\n',
  '0\r\n\r\nGET /api/v1/audit HTTP/1.1\r\nHost: smuggled\r\n\r\n',
  `${'1\r\nx\r\n'.repeat(500)}0\r\n\r\n`,
  `1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`,
  'x'.repeat(100_000),
];

/** Some requests, one after the other on one connection. */
export const httpBytes = (random: Random, key: string): {bytes: Buffer; inputs: number} => {
  const inputs = random.between(1, 6);
  const requests = Array.from({length: inputs}, () => oneRequest(random, key));
  const bytes = Buffer.from(requests.join(''), 'latin1');
  if (random.chance(0.15)) bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
  if (random.chance(0.15)) return {bytes: bytes.subarray(0, random.between(1, bytes.length)), inputs};
  return {bytes, inputs};
};

const oneRequest = (random: Random, key: string): string => {
  if (random.chance(0.05)) return random.bytes(random.between(1, 500)).toString('latin1');
  if (random.chance(0.02)) return flood(random);
  const lines = [
    random.chance(0.5) ? (requestLines[0] ?? '') : random.pick(requestLines),
    random.chance(0.8) ? (hosts[0] ?? '') : random.pick(hosts),
  ];
  if (random.chance(0.6)) lines.push(`X-API-Key: ${key}`);
  for (let count = random.between(0, 3); count > 0; count -= 1) lines.push(random.pick(oddHeaders));
  const end = random.chance(0.9) ? '\r\n' : random.pick(['\n', '\r', '\r\n\r\n', '\0']);
  return `${lines.join(end)}${end}${end}${random.chance(0.5) ? '' : random.pick(bodies)}`;
};

const flood = (random: Random): string => {
  const kind = random.between(0, 3);
  const head = 'GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\n';
  if (kind === 0) return `${head}${Array.from({length: 3000}, (_, n) => `X-${n}: y`).join('\r\n')}\r\n\r\n`;
  if (kind === 1) return `${head}X: ${'y'.repeat(100_000)}\r\n\r\n`;
  if (kind === 2) return `GET /api/v1/${'x'.repeat(30_000)} HTTP/1.1\r\nHost: x\r\n\r\n`;
  return `${head}${'X: y\r\n'.repeat(1500)}\r\n`;
};
