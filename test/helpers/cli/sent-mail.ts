// Mail to both recipients at example.com, and the ids that the built mfctl lists.
import type {MailNode} from '../mail-node.ts';
import type {TestNode} from '../node.ts';
import type {Reply} from '../smtp-client.ts';

export const send = async (node: MailNode, raw: string | Buffer): Promise<Reply> =>
  node.send(raw, {from: 'sender@sender.example', to: ['a@example.com', 'b@example.com']});

export const heldIds = async (node: TestNode): Promise<string[]> => {
  const {stdout} = await node.mfctl(['quarantine', 'list', '--limit', '1000']);
  return stdout
    .split('\n')
    .slice(1)
    .flatMap(line => line.split(' ', 1))
    .filter(id => id !== '');
};
