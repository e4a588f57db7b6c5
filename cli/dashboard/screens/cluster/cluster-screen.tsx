import {type ReactElement, useEffect} from 'react';
import type {ClusterDrift} from '../../../../shared/cluster-drift.ts';
import {driftOf} from '../../../cluster/drift.ts';
import {type ListExtent, type ListPosition, listStart, moved, movingKeys} from '../../list/list-window.ts';
import {useBindings, useKeptReducer, useNow, useSource} from '../../shell/hooks.ts';
import type {KeyName} from '../../shell/keys.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import {noSource} from '../../shell/source.ts';
import {isRefused} from '../../shell/why-not.ts';
import {agedStatus} from './aged-status.ts';
import {askForToken, askToRemove} from './cluster-actions.ts';
import {clusterLines, nodeRows, peerAt} from './cluster-lines.ts';
import {
  arrivalsSource,
  certificatesSource,
  driftRequest,
  driftSource,
  heldSource,
  historyOf,
  metricsSource,
  statusSource,
} from './cluster-sources.ts';
import {driftPage} from './drift-page.ts';
import type {NodeFacts} from './node-columns.ts';
import {nodePage} from './node-page.ts';

interface Move {
  key: KeyName;
  extent: ListExtent;
}

const afterMove = (position: ListPosition, {key, extent}: Move): ListPosition => moved(position, key, extent) ?? position;

export const ClusterScreen = (): ReactElement => {
  const shell = useShell();
  const {app, size, isActive} = shell;
  const nowMs = useNow(app);
  const history = historyOf(app);
  const nodes = statusSource(app);
  const {value: status, loadedAtMs, failure} = useSource(nodes);
  const mail = heldSource(app);
  const held = useSource(mail);
  const {value: arrivals} = useSource(arrivalsSource(app));
  const {value: metrics} = useSource(metricsSource(app));
  const ends = status ? certificatesSource(app) : noSource;
  const {value: certificates = new Map()} = useSource(ends);
  const drift = status && driftOf(status);
  const {value: driftReport} = useSource(drift ? driftSource(app) : noSource);
  const [position, dispatch] = useKeptReducer(app, 'cluster.position', afterMove, listStart);

  const addresses = status?.peers.map(({api_url}) => api_url).join(' ');
  useEffect(() => {
    if (addresses !== undefined) ends.refresh();
  }, [addresses, ends]);

  const peers = status?.peers ?? [];
  const extent = {count: peers.length, height: nodeRows(peers.length, size)};
  const facts: NodeFacts | undefined = status && {
    status: agedStatus(status, nowMs - (loadedAtMs ?? nowMs)),
    drift,
    certificates,
    nowMs,
  };
  const peer = peerAt(peers, position);

  const openDrift = async (): Promise<void> => {
    if (isRefused(shell, 'cluster:read')) return;
    try {
      const {data} = await app.client.send<ClusterDrift>(driftRequest);
      shell.open(driftPage(data, app.theme));
    } catch (error) {
      shell.fail(error);
    }
  };
  const openNode = (): void => {
    if (!peer || !facts || !status) return;
    const {version} = metrics?.metrics ?? {version: undefined};
    const more = {summary: held.value?.summary, changes: history.changes(), openedAtMs: history.startedAtMs, version};
    // The page says how things were when the node was asked.
    shell.open(nodePage(peer, {...facts, status}, more, app.theme));
  };

  useBindings({
    bindings: [
      {keys: movingKeys, help: 'move', run: key => dispatch({key, extent})},
      {keys: ['enter'], label: 'node', help: 'everything about the node under the cursor', run: openNode},
      {
        keys: ['d'],
        label: 'drift',
        needs: 'cluster:read',
        help: 'which records and fields differ between nodes',
        run: () => void openDrift(),
      },
      {
        keys: ['t'],
        label: 'join token',
        needs: 'cluster:write',
        help: 'make a token that lets a node join',
        run: () => askForToken(shell),
      },
      {
        keys: ['X'],
        label: 'remove',
        needs: 'cluster:write',
        help: 'take the node under the cursor out of the cluster',
        run: () => {
          if (!peer || !status) return;
          const {node_id, healthy} = peer;
          const isLocal = node_id === status.local_node_id;
          askToRemove(shell, {node: node_id, isLocal, isOnline: healthy === 'online'});
        },
      },
      {
        keys: ['r'],
        help: 'read everything anew',
        run: () => {
          for (const source of [nodes, mail, ends, metricsSource(app)]) source.refresh();
        },
      },
    ],
    commands: [
      {name: 'drift', help: 'which records and fields differ between nodes', run: () => void openDrift()},
      {name: 'token', help: 'make a token that lets a node join', run: () => askForToken(shell)},
    ],
  });

  const mayReadMail = app.may('quarantine:read');
  const instead = app.may('cluster:read') ? (failure?.detail ?? 'asking …') : outOfSight(app.me.scope, mayReadMail);
  const lines = clusterLines(
    {
      facts,
      loadedAtMs,
      isOld: failure !== undefined,
      driftReport,
      held,
      arrivals,
      metrics,
      history,
      position,
      instead,
      mayReadMail,
      isActive,
      nowMs,
    },
    {size, theme: app.theme},
  );
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const outOfSight = (scope: string, mayReadMail: boolean): string =>
  `This ${scope} key may not see the nodes${mayReadMail ? '; what is held for it is below' : ', nor held mail'}.`;
