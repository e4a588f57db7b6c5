// One running node for all tests of a file, with a backend behind it.
import test from 'ava';
import {type ApiNode, createApiNode} from './checked-node.ts';
import type {Owner} from './daemon.ts';
import {type NodeOptions, startNode} from './node.ts';
import {startSmtpSink} from './smtp-sink.ts';

export type {ApiNode} from './checked-node.ts';

/** Starts before the first test of the file and ends after the last; the node is there once tests run. */
export const useApiNode = (options: NodeOptions = {}): (() => ApiNode) => {
  const closers: (() => unknown)[] = [];
  const owner: Owner = {teardown: close => void closers.push(close)};
  let node: ApiNode | undefined;

  test.before(async () => {
    const sink = await startSmtpSink(owner);
    node = createApiNode(await startNode(owner, options), sink);
  });
  test.after.always(async () => {
    for (const close of closers.toReversed()) await close();
  });
  return () => {
    if (!node) throw new Error('the node is not there before the tests run');
    return node;
  };
};
