// Builder of the V8 code cache of a program in the given folder. Of mfd it has what runs as it is loaded. mfctl runs the help and a list of
// held mail, with a usual context and a fake node, which answers without TLS because a build has no certificate.
const {mkdirSync, mkdtempSync, rmSync, writeFileSync} = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const {tmpdir} = require('node:os');
const {join, resolve} = require('node:path');
const {loadBundle} = require('./bundle.js');

const name = process.argv[2];
const folder = resolve(process.argv[3]);
const {compiledSoFar, main} = loadBundle(name, folder);

const mail = {
  node_id: 'mx1',
  queue_id: 'aaaaaa',
  sender: 'ada@example.net',
  recipients: ['ben@example.com', 'cleo@example.com'],
  subject: 'Zürich – lunch',
  score: 7.5,
  symbols: ['RULE'],
  reason: 'spam',
  size_bytes: 2000,
  arrived_at: '2026-01-01T00:00:00.000Z',
};
const answer = JSON.stringify({data: [mail, {...mail, queue_id: 'bbbbbb'}], error: null, message: 'OK'});

const withContext = (home, port) => {
  const folder = join(home, 'mfctl');
  mkdirSync(folder);
  writeFileSync(join(folder, 'ca.crt'), '-----BEGIN CERTIFICATE-----\n');
  const context = `    url: https://127.0.0.1:${port}\n    cacert: ${join(folder, 'ca.crt')}\n`;
  writeFileSync(join(folder, 'config.yaml'), `contexts:\n  mx1:\n${context}current: mx1\n`, {mode: 0o600});
  writeFileSync(join(folder, 'keys.yaml'), `mx1: mfk_${'a'.repeat(38)}\n`, {mode: 0o600});
  process.env.XDG_CONFIG_HOME = home;
};

const listHeld = async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('MFCTL_')) delete process.env[name];
  const server = http.createServer((_request, response) =>
    response.writeHead(200, {'Content-Type': 'application/json', 'X-Total-Count': '102', Connection: 'close'}).end(answer),
  );
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  https.request = (url, {method, headers}, onAnswer) =>
    http.request({host: url.hostname, port: url.port, path: url.pathname + url.search, method, headers}, onAnswer);
  const home = mkdtempSync(join(tmpdir(), 'mfctl-compile-'));
  try {
    withContext(home, server.address().port);
    await main(['--help']);
    if ((await main(['quarantine', 'list'])) !== 0) throw new Error('the list that is to be compiled was not listed');
  } finally {
    rmSync(home, {recursive: true});
    server.close();
  }
};

const compile = async () => {
  if (name === 'mfctl') await listHeld();
  writeFileSync(join(folder, `${name}.cache`), compiledSoFar());
};

void compile();
