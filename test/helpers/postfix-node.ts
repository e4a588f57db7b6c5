// A real node beside a real Postfix, whose hold queue is part of the node's quarantine.
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {type Held, type MailNode, type MailNodeOptions, startMailNode} from './mail-node.ts';
import {type PostfixOptions, type PrivatePostfix, startPostfix} from './postfix.ts';
import {sendMail} from './smtp-client.ts';
import {startSmtpSink} from './smtp-sink.ts';

export interface PostfixNode extends MailNode {
  postfix: PrivatePostfix;
  /** Sends to Postfix, from ada@example.net to ben@example.com. */
  sendToPostfix(raw: string | Buffer, sending?: {from?: string; to?: string | string[]}): ReturnType<typeof sendMail>;
  /** Ids of the mails on hold in Postfix. */
  onHold(): Promise<string[]>;
  /** Waits until the list has this number of mails. */
  untilHeld(count: number): Promise<Held[]>;
}

/** Postfix itself puts every mail on hold, as `header_checks` may do. */
export const holdEverything = {smtpd_data_restrictions: 'check_client_access static:HOLD'};

export interface PostfixNodeOptions extends MailNodeOptions, Pick<PostfixOptions, 'settings'> {
  /** Starts the helper that runs programs as root; resolves with its socket. */
  helper?(owner: Owner, postfix: PrivatePostfix): Promise<string>;
  /** Interval of the polls of the queue. */
  reconcileSeconds?: number;
}

export const startPostfixNode = async (
  owner: Owner,
  {settings, helper, reconcileSeconds = 0.3, ...options}: PostfixNodeOptions = {},
): Promise<PostfixNode> => {
  const backend = await startSmtpSink(owner);
  const postfix = await startPostfix(owner, {
    settings: {
      relay_domains: 'example.com, example.org',
      relay_transport: `relay:[127.0.0.1]:${backend.server.port}`,
      ...settings,
    },
  });
  const config = {
    ...options.config,
    postfix: {
      config_dir: postfix.configDir,
      reconcile_interval: reconcileSeconds,
      ...(helper && {helper_socket: await helper(owner, postfix)}),
    },
  };
  const node = await startMailNode(owner, {...options, config});

  return {
    ...node,
    sink: backend,
    postfix,
    sendToPostfix: async (raw, {from = 'ada@example.net', to = 'ben@example.com'} = {}) =>
      sendMail({port: postfix.port, from, to, raw}),
    onHold: postfix.onHold,
    untilHeld: async count =>
      eventually(async () => {
        const mails = await node.held();
        return mails.length === count && mails;
      }),
  };
};
