import {join} from 'node:path';
import test from 'ava';
import {makeNode, nodeFolder, openNode} from '../helpers/node.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';

/** Nothing can be written to this device: its disk is full. */
const within = ['/bin/sh', '-c', 'exec "$@" 2>/dev/full', 'sh'];

test('a node whose log cannot be written starts, relays each mail once, answers the API and stops', async t => {
  const sink = await startSmtpSink(t);
  const {root, xdgConfigHome} = await nodeFolder(t);
  const env = {XDG_CONFIG_HOME: xdgConfigHome};
  const report = await makeNode(['init', '--data', join(root, 'data')], {env});
  const node = await openNode(t, {report, xdgConfigHome, env, host: {address: '127.0.0.1', within}});
  await node.start();
  const domain = {name: 'example.com', backend_servers: [`${sink.server.host}:${sink.server.port}`]};
  t.is((await node.api('POST', 'domains', {body: domain})).status, 201);

  for (const subject of ['one', 'two', 'three']) {
    const mail = {from: 'a@example.net', to: 'b@example.com', raw: `Subject: ${subject}\r\n\r\nx\r\n`};
    t.is((await sendMail({port: node.smtpPort, ...mail})).reply.code, 250, subject);
  }

  t.is(sink.mails.length, 3);
  t.is(await node.stop(), 0);
});
