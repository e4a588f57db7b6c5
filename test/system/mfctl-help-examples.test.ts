// Help examples: a shell runs each of them against a node, and they work.
import {execFile} from 'node:child_process';
import {randomUUID} from 'node:crypto';
import {cp, mkdir, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {dirname, join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {allCommands, commandLine, mfctlCommands} from '../helpers/cli/command-tree.ts';
import {argumentsIn, helpExamples} from '../helpers/cli/help-examples.ts';
import {send} from '../helpers/cli/sent-mail.ts';
import {eventually} from '../helpers/eventually.ts';
import {isInstalled} from '../helpers/installed.ts';
import {listening} from '../helpers/listening.ts';
import {holdAll, type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {freePort} from '../helpers/ports.ts';
import {cleanEnvironment, mfctlFile} from '../helpers/program.ts';
import {testFolder} from '../helpers/test-folder.ts';

/** Examples that need a terminal, another machine, a zone in DNS, mail of an earlier day, or a person to end them. */
// The scanner of the node learns nothing.
const notRun =
  /^mfctl (quarantine (?:allow|block) .*--train|dashboard|dmarc report|domain dns \S+ --check|top|login|events|quarantine watch|cluster (watch|remove))\b/;

interface Prepared {
  node: MailNode;
  webhookUrl: string;
}

interface Outcome {
  code: number;
  stderr: string;
}

(isInstalled('bash') ? test : test.skip)('the examples in the help work (needs bash)', async t => {
  const listen = `127.0.0.1:${await freePort()}`;
  const config = {webhooks: {allow_networks: ['127.0.0.1/32']}, recipients: {listen, url: `https://${listen}`}};
  const node = await startMailNode(t, {domain: holdAll, config});
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  const webhookUrl = `http://127.0.0.1:${await listening(t, receiver)}/`;
  const examples = (await helpExamples()).filter(({line}) => !notRun.test(line));

  for (const {from, line} of examples) {
    const {code, stderr} = await runExample(t, {node, webhookUrl}, line);

    t.is(code, 0, `${from}: ${line}\n${stderr}`);
  }
  t.true(examples.length > 30);
});

const runExample = async (t: ExecutionContext, {node, webhookUrl}: Prepared, line: string): Promise<Outcome> => {
  const folder = await testFolder(t);
  const [home, bin, config] = [join(folder, 'home'), join(folder, 'bin'), join(folder, 'config')];
  for (const path of [join(home, '.zfunc'), join(home, '.config/fish/completions'), bin]) await mkdir(path, {recursive: true});
  await cp(node.xdgConfigHome, config, {recursive: true});
  await writeFile(join(bin, 'pass'), `#!/bin/sh\necho ${node.api_key}\n`, {mode: 0o755});
  await writeFile(join(bin, 'ssh'), '#!/bin/sh\ngrep -q .\n', {mode: 0o755});
  await writeFile(join(folder, 'admin.key'), node.api_key);
  await cp(node.ca_file, join(folder, 'ca.pem'));

  let text = agreed(await prepared({node, webhookUrl}, line)).replace(/ -c \w+/g, ` -c ${node.node_id}`);
  const [, recipient] = / --only (\S+)/.exec(text) ?? [];
  while (text.includes('NODE/QUEUE')) text = text.replace('NODE/QUEUE', await heldMail(node, recipient));
  const [, messageId] = /trace show '(<[^']+>)'/.exec(text) ?? [];
  if (messageId !== undefined) {
    await send(node, `Message-ID: ${messageId}\r\n\r\ntext\r\n`);
    await eventually(async () => (await node.api('GET', `mail/trace?message_id=${messageId}`)).json.data.length > 0);
  }
  if (text.includes('ids.txt')) await writeFile(join(folder, 'ids.txt'), `${await heldMail(node)}\n`);

  if (text.includes('-f domains.yaml'))
    await writeFile(join(folder, 'domains.yaml'), (await node.mfctl(['domain', 'export'])).stdout);

  const path = `${bin}:${dirname(mfctlFile)}:${process.env.PATH}`;
  const env = {...cleanEnvironment(), HOME: home, XDG_CONFIG_HOME: config, PATH: path};
  return new Promise(resolve => {
    const child = execFile('bash', ['--norc', '-c', text], {env, cwd: folder, timeout: 30_000}, (error, _stdout, stderr) =>
      resolve({code: error ? Number(error.code ?? 128) : 0, stderr}),
    );
    child.stdin?.end();
  });
};

/** Creates what an example assumes, and replaces its placeholders with existing names. */
const prepared = async ({node, webhookUrl}: Prepared, line: string): Promise<string> => {
  const domain = await freshDomain(node);
  let text = line.replace(/\/domains\/\d+/, `/domains/${domain}`);
  if (/ domain create /.test(line)) await ask(node, 'DELETE', `domains/${domain}`);
  if (/ key create .*example\.net/.test(line)) await node.createDomain({name: 'example.net'});
  if (/ digest .*--send-now/.test(line)) await ask(node, 'PUT', `domains/${domain}/digest`, {enabled: true});
  if (/ dkim delete /.test(line)) await ask(node, 'POST', `domains/${domain}/dkim-keys`, {selector: 'mfd2026'});
  if (/ key (rotate|revoke|delete) /.test(line)) {
    const name = `example-${randomUUID()}`;
    const {id} = await node.createKey('full-admin', {name});
    text = text.replace(/(key \w+ )\d+/, `$1${id}`).replace(/(key \w+ )monitoring/, `$1${name}`);
  }
  if (/ filters? remove /.test(line)) {
    const filter = {action: 'block', match: 'sender', pattern: 'a@b.example'};
    const path = / domain /.test(line) ? `domains/${domain}/filters` : 'filters';
    const {id} = await ask<{id: number}>(node, 'POST', path, filter);
    text = text.replace(/\d+$/, String(id));
  }
  if (/ webhook (?!add)/.test(line)) {
    const {id} = await ask<{id: number}>(node, 'POST', 'webhooks', {url: webhookUrl});
    text = text.replace('1000000001', String(id));
  }
  // No held mail matches the example.
  text = text.replace(/--expect-count \d+/, '--expect-count 0');
  return / context use /.test(line) ? text.replace('mx1', node.node_id) : text;
};

/** Independent of what earlier examples have changed. */
const freshDomain = async (node: MailNode): Promise<number> => {
  for (const {id} of await ask<{id: number}[]>(node, 'GET', 'domains')) await ask(node, 'DELETE', `domains/${id}`);
  return (await node.createDomain({name: 'example.com', ...holdAll})).id;
};

/** A new mail for each id, as an example may remove it. */
const heldMail = async (node: MailNode, recipient = 'a@example.com'): Promise<string> => {
  const to = [recipient, 'b@example.com'];
  await node.send('Subject: example\r\n\r\ntext\r\n', {from: 'sender@sender.example', to});
  const [mail] = await node.held('limit=1');
  return `${mail?.node_id}/${mail?.queue_id}`;
};

/** Throws here, as later steps would fail without giving the reason. */
const ask = async <T>(node: MailNode, method: string, path: string, body?: unknown): Promise<T> => {
  const {status, json} = await node.api(method, path, {body});
  if (status > 299) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
  return json.data as T;
};

/** Answers the question that is meant for a person. */
const agreed = (line: string): string => {
  const [argv = []] = argumentsIn(line);
  const asking = allCommands(mfctlCommands()).filter(({options}) => options.some(({long}) => long === '--yes'));
  const isAsking = asking.some(command => `mfctl ${argv.join(' ')} `.startsWith(`${commandLine(command)} `));
  return isAsking && !argv.includes('--yes') ? `${line} --yes` : line;
};
