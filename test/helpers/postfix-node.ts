// A real node beside a real Postfix, which relays mail for example.com and example.org, and any mail from loopback, to the node's sink.
// The hold queue of Postfix is part of the node's quarantine.
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {type Held, type MailNode, type MailNodeOptions, type Sending, startMailNode} from './mail-node.ts';
import {freePort} from './ports.ts';
import {type PrivatePostfix, startPostfix} from './postfix.ts';
import {type Reply, sendMail} from './smtp-client.ts';
import {type SinkMail, startSmtpSink} from './smtp-sink.ts';
import {makeSocketFolder} from './socket-folder.ts';

export interface PostfixNode extends MailNode {
  postfix: PrivatePostfix;
  /** The milter's address as in Postfix's configuration; empty without a milter. */
  milter: string;
  /** Sends to Postfix; from ada@example.net to ben@example.com by default. */
  mail(raw: string | Buffer, sending?: Sending): Promise<{reply: Reply; recipients: Reply[]}>;
  /** Resolves once the sink has received this number of mails. */
  sunk(count: number): Promise<SinkMail[]>;
  /** Ids of the mails on hold in Postfix. */
  onHold(): Promise<string[]>;
  /** Waits until the list has this number of mails. */
  untilHeld(count: number): Promise<Held[]>;
}

/** Postfix itself puts every mail on hold, as `header_checks` may do. */
export const holdEverything = {smtpd_data_restrictions: 'check_client_access static:HOLD'};

export interface PostfixNodeOptions extends MailNodeOptions {
  /** Parameters of main.cf. */
  settings?: Record<string, string>;
  /** The node is the milter of Postfix, over a socket of this kind. */
  milter?: 'unix' | 'tcp';
  /** Starts the helper that runs programs as root; resolves with its socket. */
  helper?(owner: Owner, postfix: PrivatePostfix): Promise<string>;
  /** The node follows the log of Postfix. */
  isLogFollowed?: boolean;
  /** Interval of the polls of the queue. */
  reconcileSeconds?: number;
}

export const startPostfixNode = async (
  owner: Owner,
  {settings, milter: kind, helper, isLogFollowed = false, reconcileSeconds = 0.3, ...options}: PostfixNodeOptions = {},
): Promise<PostfixNode> => {
  const sink = await startSmtpSink(owner, options.sink);
  const postfix = await startPostfix(owner, {isStarted: false});
  const listen = kind && (await milterAddress(kind, postfix));
  const milter = kind === 'tcp' ? `inet:${listen}` : (listen ?? '');
  const toSink = `relay:[127.0.0.1]:${sink.server.port}`;
  await postfix.configure({
    relay_domains: 'example.com, example.org',
    relay_transport: toSink,
    ...(milter !== '' && {default_transport: toSink, smtpd_milters: milter}),
    ...settings,
  });
  await postfix.start();
  const config = {
    ...options.config,
    postfix: {
      config_dir: postfix.configDir,
      reconcile_interval: reconcileSeconds,
      ...(listen !== undefined && {milter_listen: listen}),
      ...(isLogFollowed && {log_file: postfix.logFile}),
      ...(helper && {helper_socket: await helper(owner, postfix)}),
    },
  };
  const node = await startMailNode(owner, {...options, config});

  return {
    ...node,
    sink,
    postfix,
    milter,
    mail: async (raw, {from = 'ada@example.net', to = 'ben@example.com', parameters} = {}) =>
      sendMail({port: postfix.port, from, to, raw, ...(parameters !== undefined && {parameters})}),
    sunk: async count => eventually(() => sink.mails.length >= count && sink.mails),
    onHold: postfix.onHold,
    untilHeld: async count =>
      eventually(async () => {
        const mails = await node.held();
        return mails.length === count && mails;
      }),
  };
};

/** As `milter_listen` has it. */
const milterAddress = async (kind: 'unix' | 'tcp', postfix: PrivatePostfix): Promise<string> =>
  kind === 'tcp' ? `127.0.0.1:${await freePort()}` : `unix:${join(await makeSocketFolder(postfix), 'milter.sock')}`;
