// A real Postfix whose milter is a real node. Relayed mail goes to the node's sink.
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {type MailNode, type MailNodeOptions, type Sending, startMailNode} from './mail-node.ts';
import {freePort} from './ports.ts';
import {type PrivatePostfix, startPostfix} from './postfix.ts';
import {type Reply, sendMail} from './smtp-client.ts';
import type {SinkMail} from './smtp-sink.ts';
import {makeSocketFolder} from './socket-folder.ts';

export interface MilterNode extends MailNode {
  postfix: PrivatePostfix;
  /** The milter's address as in Postfix's configuration. */
  milter: string;
  /** Sends to Postfix; from ada@example.net to ben@example.com by default. */
  mail(raw: string | Buffer, sending?: Sending): Promise<{reply: Reply; recipients: Reply[]}>;
  /** Resolves once the sink has received this number of mails. */
  sunk(count: number): Promise<SinkMail[]>;
  /** Queue ids in Postfix's hold queue. */
  onHold(): Promise<string[]>;
}

export interface MilterNodeOptions extends MailNodeOptions {
  /** Parameters of main.cf. */
  settings?: Record<string, string>;
  isOverTcp?: boolean;
}

/** Postfix relays mail for example.com and example.org, and any mail from loopback. */
export const startMilterNode = async (t: Owner, options: MilterNodeOptions = {}): Promise<MilterNode> => {
  const {settings, isOverTcp, ...mailOptions} = options;
  const postfix = await startPostfix(t, {isStarted: false});
  const listen = isOverTcp ? `127.0.0.1:${await freePort()}` : `unix:${join(await makeSocketFolder(postfix), 'milter.sock')}`;
  const config = {
    ...mailOptions.config,
    postfix: {milter_listen: listen, config_dir: postfix.configDir, reconcile_interval: 0.3},
  };
  const node = await startMailNode(t, {...mailOptions, config});
  const milter = isOverTcp ? `inet:${listen}` : listen;
  const toSink = `relay:[127.0.0.1]:${node.sink.server.port}`;
  await postfix.configure({
    relay_domains: 'example.com, example.org',
    relay_transport: toSink,
    default_transport: toSink,
    smtpd_milters: milter,
    ...settings,
  });
  await postfix.start();

  return {
    ...node,
    postfix,
    milter,
    mail: async (raw, {from = 'ada@example.net', to = 'ben@example.com', parameters} = {}) =>
      sendMail({port: postfix.port, from, to, raw, ...(parameters !== undefined && {parameters})}),
    sunk: async count => eventually(() => node.sink.mails.length >= count && node.sink.mails),
    onHold: postfix.onHold,
  };
};
