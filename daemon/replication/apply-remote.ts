// Entry point for configuration sent by other nodes: it applies the rules of `remote-changes.ts`, then merges and writes the
// audit entries in one transaction.

import type {Applied, ChangeSource} from '../services/cluster/replication-ports.ts';
import type {NodeStore, NodeTransaction} from '../services/node-store.ts';
import type {ConfigRecord, StoredRecord} from '../services/records.ts';
import {stampsOf} from './clock.ts';
import type {Configuration} from './configuration.ts';
import {
  believableNode,
  contradicts,
  fixedNodeFields,
  leftOutEntry,
  leftOutText,
  receiptEntries,
  withoutFutureWrites,
} from './remote-changes.ts';

/** `note` writes in the same transaction. */
export type ApplyRemote = (
  changes: ConfigRecord[],
  source: ChangeSource,
  note?: (tx: NodeTransaction) => Promise<void>,
) => Promise<Applied>;

interface Needs {
  store: NodeStore;
  configuration: Configuration;
  nodeNo: number;
  now: () => number;
  /** The name of a node for display, or its number when no name is known here. */
  nameOf(nodeNo: number): string;
}

export const createApplyRemote = ({store, configuration, nodeNo, now, nameOf}: Needs): ApplyRemote => {
  /** A repeated repair leaves out the same records each time, so only the first attempt writes an audit entry. */
  const lastLeftOut = new Map<number, string>();

  const knownNodes = async (changes: ConfigRecord[]): Promise<Map<number, StoredRecord>> => {
    const found = await store.records.findAll(changes.filter(({kind}) => kind === 'node'));
    return new Map(found.map(record => [record.id, record]));
  };

  /**
   * Writes this node's own name and addresses again, with stamps later than those that this node wrote before it lost its
   * database.
   */
  const describeAgain = async ({fields}: StoredRecord): Promise<void> => {
    const described = Object.entries(fields).filter(([name]) => !fixedNodeFields.includes(name));
    await configuration.change(async tx =>
      tx.update('node', nodeNo, Object.fromEntries(described.map(([name, [value]]) => [name, value]))),
    );
  };

  return async (sent, source, note) => {
    const {changes: dated, leftOut} = withoutFutureWrites(sent, now());
    const nodes = await knownNodes(dated);
    const changes = dated
      .map(change => (change.kind === 'node' ? believableNode(change, nodes.get(change.id), source.node) : change))
      .filter(({fields, deleted}) => deleted !== null || Object.keys(fields).length > 0);
    const own = nodes.get(nodeNo);
    const isContradicted =
      own !== undefined && dated.some(change => change.kind === 'node' && change.id === nodeNo && contradicts(change, own));

    const text = leftOutText(leftOut);
    const isNews = text !== '' && (source.path === 'events' || lastLeftOut.get(source.node.nodeNo) !== text);
    if (source.path !== 'events') lastLeftOut.set(source.node.nodeNo, text);
    const receipt = {source, at: new Date(now()).toISOString(), nameOf};
    const changed = await configuration.applyRemote({
      changes,
      stamps: dated.flatMap(stampsOf),
      audit: records => [...(isNews ? [leftOutEntry(leftOut, receipt)] : []), ...receiptEntries(records, receipt)],
      ...(note && {note}),
    });
    if (own && isContradicted) await describeAgain(own);
    return {changed, leftOut: text};
  };
};
