import {type ReactElement, useEffect} from 'react';
import type {Peer} from '../../../../shared/cluster-status.ts';
import {driftOf} from '../../../cluster/cluster-drift.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {heldSource} from '../../shell/held-now.ts';
import {useWatched} from '../../shell/hooks.ts';
import type {Binding} from '../../shell/keys.ts';
import {guarded, type Shell, useShell} from '../../shell/shell.ts';
import {noSource} from '../../shell/source.ts';
import {askForToken, askToRemove} from './cluster-actions.ts';
import {clusterList} from './cluster-list.ts';
import {
  agedStatus,
  arrivalsSource,
  certificatesSource,
  driftSource,
  historyOf,
  metricsSource,
  readDrift,
  statusSource,
} from './cluster-sources.ts';
import type {ShownNodes} from './node-columns.ts';
import {driftPage, nodePage} from './node-page.ts';
export const ClusterScreen = (): ReactElement => {
  const shell = useShell();
  const {app, nowMs} = shell;
  const history = historyOf(app);
  const nodes = statusSource(app);
  const {value: status, loadedAtMs, failure} = useWatched(nodes);
  const mail = heldSource(app);
  const held = useWatched(mail);
  const {value: arrivals} = useWatched(arrivalsSource(app));
  const {value: metrics} = useWatched(metricsSource(app));
  const ends = status ? certificatesSource(app) : noSource;
  const {value: certificates = new Map()} = useWatched(ends);
  const drift = status && driftOf(status);
  const {value: driftReport} = useWatched(drift ? driftSource(app) : noSource);
  const [state, dispatch] = useListState('nodes');

  const addresses = status?.peers.map(({api_url}) => api_url).join(' ');
  useEffect(() => {
    if (addresses !== undefined) ends.refresh();
  }, [addresses, ends]);

  const facts: ShownNodes | undefined = status && {
    status: agedStatus(status, nowMs - (loadedAtMs ?? nowMs)),
    drift,
    certificates,
    nowMs,
  };
  const mayReadMail = app.may('quarantine:read');
  const list = clusterList({
    ...{nodes: facts, loaded: {loadedAtMs, failure}, driftReport, held, arrivals, metrics, history, mayReadMail},
    refusal: app.may('cluster:read') ? undefined : refusalOf(app.me.scope, mayReadMail),
    theme: app.theme,
  });

  const openNode = (node: Peer): void => {
    // The page says how things were when the node was asked.
    const peer = status?.peers.find(({node_id}) => node_id === node.node_id);
    if (!peer || !facts || !status) return;
    const {version} = metrics?.metrics ?? {version: undefined};
    const more = {summary: held.value?.summary, changes: history.changes(), openedAtMs: history.startedAtMs, version};
    shell.open(nodePage(peer, {...facts, status}, more, app.theme));
  };
  const needs = {shell, localNode: status?.local_node_id, openNode};
  return (
    <ListScreen
      {...{list, state, dispatch}}
      refresh={() => {
        for (const source of [nodes, mail, ends, metricsSource(app)]) source.refresh();
      }}
      bindings={peer => clusterBindings(needs, peer)}
    />
  );
};

interface BindingNeeds {
  shell: Shell;
  localNode: string | undefined;
  openNode(node: Peer): void;
}

const clusterBindings = ({shell, localNode, openNode}: BindingNeeds, peer: Peer | undefined): Binding[] => [
  {
    keys: ['enter'],
    label: 'node',
    help: 'everything about the node under the cursor',
    run: () => peer && openNode(peer),
  },
  {
    keys: ['d'],
    command: 'drift',
    label: 'drift',
    needs: 'cluster:read',
    help: 'which records and fields differ between nodes',
    run: () => void guarded(shell, async () => shell.open(driftPage(await readDrift(shell.app), shell.app.theme))),
  },
  {
    keys: ['t'],
    command: 'token',
    label: 'join token',
    needs: 'cluster:write',
    help: 'make a token that lets a node join',
    run: () => askForToken(shell),
  },
  {
    keys: ['X'],
    label: 'remove',
    needs: 'cluster:write',
    help: 'remove the node under the cursor from the cluster',
    run: () => {
      if (!peer || localNode === undefined) return;
      const {node_id: node, healthy} = peer;
      askToRemove(shell, {node, isLocal: node === localNode, isOnline: healthy === 'online'});
    },
  },
];

const refusalOf = (scope: string, mayReadMail: boolean): string =>
  `This ${scope} key may not see the nodes${mayReadMail ? '; what is held for it is below' : ', nor held mail'}.`;
