// One running node for all tests of a file, with a backend behind it.
import {type ApiNode, createApiNode} from './checked-node.ts';
import {forFile} from './for-file.ts';
import {type NodeOptions, startNode} from './node.ts';
import {startSmtpSink} from './smtp-sink.ts';

export type {ApiNode} from './checked-node.ts';

export const useApiNode = (options: NodeOptions = {}): (() => ApiNode) =>
  forFile(async owner => {
    const node = createApiNode(await startNode(owner, options), await startSmtpSink(owner));
    // Reading the API description takes a moment. It is read here so that no test waits for it with its first answer.
    await node.api('HEAD', 'openapi-admin.yaml', {key: null});
    return node;
  });
