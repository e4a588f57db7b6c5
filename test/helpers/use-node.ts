// Apart from `mail-node.ts`, as fault and bench programs cannot import the test runner.
import {forFile} from './for-file.ts';
import {type MailNode, type MailNodeOptions, startMailNode} from './mail-node.ts';

/** One running node without a domain, for all tests of a file. */
export const useNode = (options: MailNodeOptions = {}): (() => MailNode) =>
  forFile(async owner => startMailNode(owner, {domain: false, ...options}));
