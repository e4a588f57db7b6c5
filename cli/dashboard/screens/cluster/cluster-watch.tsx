// Watch over the cluster on every screen: a node that stops answering is reported at once, and the history has no gaps.
import {useEffect, useRef} from 'react';
import type {ClusterStatus} from '../../../../shared/cluster-status.ts';
import {heldSource} from '../../shell/held-now.ts';
import {useValues, useWatched} from '../../shell/hooks.ts';
import {useShell} from '../../shell/shell.ts';
import {alarmsOf, changesBetween, changeText} from './alarms.ts';
import {agedStatus, historyOf, metricsSource, statusSource} from './cluster-sources.ts';
export const ClusterWatch = (): null => {
  const {app, nowMs, say} = useShell();
  const before = useRef<ClusterStatus>(undefined);
  const history = historyOf(app);
  const {value: status, loadedAtMs} = useWatched(statusSource(app));

  useValues(statusSource(app), status => {
    const changes = before.current ? changesBetween(before.current, status, app.now()) : [];
    before.current = status;
    for (const change of changes) history.addChange(change);
    const [latest] = changes.map(changeText).reverse();
    if (latest) say(latest.text, latest.tone);
  });
  useEffect(() => {
    if (!status) return;
    const aged = agedStatus(status, nowMs - (loadedAtMs ?? nowMs));
    app.notices.set('cluster', alarmsOf(aged));
  }, [app, status, loadedAtMs, nowMs]);
  useValues(heldSource(app), held => {
    // Without one node the count would seem to drop.
    if (held.unreachableNodes.length === 0) history.addHeld(held.summary.count);
  });
  useValues(metricsSource(app), ({metrics}) => {
    if (metrics) history.addTotals(metrics.verdicts);
    else history.loseTotals();
  });

  useEffect(() => app.live.on(['held', 'released', 'discarded'], event => event && history.addEvent(event.type)), [app, history]);
  return null;
};
