// A node that holds all mail, for tests of the built mfctl against a built node.
import type {ExecutionContext} from 'ava';
import {holdAll, type MailNode, startMailNode} from '../mail-node.ts';
import type {TestNode} from '../node.ts';
import {sendMail} from '../smtp-client.ts';
import type {SmtpSink} from '../smtp-sink.ts';

/** It protects example.com, whose mail server is the sink. */
export const startHoldingNode = async (t: ExecutionContext): Promise<{node: MailNode; sink: SmtpSink}> => {
  const node = await startMailNode(t, {domain: holdAll});
  return {node, sink: node.sink};
};

export const send = (node: TestNode, raw: string | Buffer, parameters?: string) =>
  sendMail({
    port: node.smtpPort,
    from: 'sender@sender.example',
    to: ['a@example.com', 'b@example.com'],
    raw,
    ...(parameters !== undefined && {parameters}),
  });

export const heldIds = async (node: TestNode): Promise<string[]> => {
  const {stdout} = await node.mfctl(['quarantine', 'list', '--limit', '1000']);
  return stdout
    .split('\n')
    .slice(1)
    .flatMap(line => line.split(' ', 1))
    .filter(id => id !== '');
};
