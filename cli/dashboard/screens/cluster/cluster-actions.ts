// What can be done to the cluster from its screen.

import {asCliError} from '../../../errors.ts';
import {timeText} from '../../../output/cell-text.ts';
import type {Prompt} from '../../shell/modal.ts';
import {secretPage} from '../../shell/secret-page.ts';
import type {Shell} from '../../shell/shell.ts';

interface CreatedToken {
  token: string;
  expires_at: string;
  address: string;
}

export const askForToken = (shell: Shell): void => {
  shell.open({
    kind: 'question',
    lines: [
      'Make a token that lets one new node join the cluster?',
      'It is good for an hour and for one node, and it is a secret: whoever has it can bring in a node that reads and changes everything.',
    ],
    yes: 'make the token',
    onYes: () => void createToken(shell),
  });
};

const createToken = async (shell: Shell): Promise<void> => {
  try {
    const {data} = await shell.app.client.send<CreatedToken>({method: 'POST', path: 'cluster/tokens', json: {}});
    shell.openLater(
      secretPage(shell, {
        title: 'Join token',
        before: [`It lets one node join through ${data.address}, until ${timeText(data.expires_at)}.`],
        secret: data.token,
        after: ['On the new machine, with the token on standard input:', '  mfd join - --data /var/lib/mfd'],
      }),
    );
  } catch (error) {
    shell.fail(error);
  }
};

/** Asked in words first, then by the name, which has to be typed. */
export const askToRemove = (
  shell: Shell,
  {node, isLocal, isOnline}: {node: string; isLocal: boolean; isOnline: boolean},
): void => {
  shell.open({
    kind: 'question',
    lines: [
      `Remove node ${node} from the cluster, for good?`,
      'The others refuse it at once, and no longer show the mail it holds: that can then be reached through it alone.',
      'It does not come back by being started again; to have it back, make a token and join with an empty folder.',
      ...(isLocal ? ['This is the node that answers here.'] : []),
      ...(isOnline && !isLocal ? ['It is online. Stop it first: it would go on by itself.'] : []),
    ],
    yes: 'go on',
    onYes: () => shell.open(nameTyped(node, () => remove(shell, node, false), `Type ${node} to remove it:`)),
  });
};

const nameTyped = (node: string, onSubmit: () => void, label: string): Prompt => ({
  kind: 'prompt',
  label,
  text: '',
  check: text => (text.trim() === node ? undefined : `type ${node} exactly, or escape to do nothing`),
  onSubmit,
});

const remove = (shell: Shell, node: string, isForced: boolean): void =>
  shell.defer({
    what: `remove node ${node}${isForced ? ' by force' : ''}`,
    run: async () => {
      const path = `cluster/nodes/${encodeURIComponent(node)}`;
      try {
        const query = {force: isForced || undefined};
        const {unreachableNodes} = await shell.app.client.send<null>({method: 'DELETE', path, query});
        return `Removed node ${node}${silentText(unreachableNodes)}`;
      } catch (error) {
        const {code, detail} = asCliError(error);
        if (code !== 'conflict' || isForced) throw error;
        // It comes up by itself, some seconds after the first question, so that no single key press may be a yes.
        shell.open({
          ...nameTyped(node, () => remove(shell, node, true), `Not done. Type ${node} to remove it by force:`),
          hint: () => detail,
        });
        return `${node} was not removed`;
      }
    },
  });

/** For the end of a sentence that has to have room in one line. */
export const silentText = (nodes: readonly string[]): string =>
  nodes.length === 0 ? '' : `, but ${nodes.join(', ')} did not answer and will follow`;
