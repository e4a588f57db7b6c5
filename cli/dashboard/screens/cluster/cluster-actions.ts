// Changes to the cluster: join tokens, and the removal of a node.
import {timeText} from '../../../output/cell-text.ts';
import {deferForceable, wordPrompt} from '../../shell/asking.ts';
import {secretPage} from '../../shell/secret-page.ts';
import {guarded, type Shell} from '../../shell/shell.ts';

export const askForToken = (shell: Shell): void => {
  shell.open({
    kind: 'question',
    lines: [
      'Make a token that lets one new node join the cluster?',
      'It is valid for an hour and for one node. Keep it secret: it lets a node join that can read and change everything.',
    ],
    yes: 'make the token',
    onYes: () => void createToken(shell),
  });
};

const createToken = (shell: Shell): Promise<void> =>
  guarded(shell, async () => {
    const {data} = await shell.app.client.cluster.createToken();
    shell.openLater(
      secretPage(shell, {
        title: 'Join token',
        before: [`It lets one node join through ${data.address}, until ${timeText(data.expires_at)}.`],
        secret: data.token,
        after: ['On the new machine, with the token on standard input:', '  mfd join - --data /var/lib/mfd'],
      }),
    );
  });

/** Asks a question first, then for the node's name. */
export const askToRemove = (
  shell: Shell,
  {node, isLocal, isOnline}: {node: string; isLocal: boolean; isOnline: boolean},
): void => {
  shell.open({
    kind: 'question',
    lines: [
      `Remove node ${node} from the cluster, for good?`,
      'The other nodes refuse it at once and no longer show the mail that it holds. Only the node itself can still reach that mail.',
      'Starting it again does not bring it back: create a token, and join with an empty folder.',
      ...(isLocal ? ['This is the node that answers here.'] : []),
      ...(isOnline && !isLocal ? ['It is online. Stop it first: otherwise it continues alone.'] : []),
    ],
    yes: 'go on',
    onYes: () => shell.open(wordPrompt(`Type ${node} to remove it:`, node, () => remove(shell, node))),
  });
};

const remove = (shell: Shell, node: string): void =>
  deferForceable(shell, {
    what: `remove node ${node}`,
    run: async isForced => {
      const {unreachableNodes} = await shell.app.client.cluster.removeNode(node, {force: isForced || undefined});
      return `Removed node ${node}${silentText(unreachableNodes)}`;
    },
    word: node,
    label: `Not done. Type ${node} to remove it by force:`,
    hint: detail => detail,
    undone: `${node} was not removed`,
  });

/** The end of a sentence that should fit in one line. */
export const silentText = (nodes: readonly string[]): string =>
  nodes.length === 0 ? '' : `, but ${nodes.join(', ')} did not answer and will follow`;
