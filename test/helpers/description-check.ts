// A check of every answer that a test gets from a node, against the administrators' API description that this node serves.
import type {ApiAnswer, ApiRequest} from './api-call.ts';
import {createJudge, type Judge} from './described.ts';
import type {TestNode} from './node.ts';

export interface DescriptionCheck {
  /** What is wrong with the answer, or with a request that was accepted; empty when nothing is wrong. */
  faults(asked: {method: string; path: string; request: ApiRequest}, answer: ApiAnswer): Promise<string>;
}

/** Keyed by text: all nodes of a test serve the same description. */
const judges = new Map<string, Judge>();

export const createDescriptionCheck = (node: Pick<TestNode, 'api'>): DescriptionCheck => {
  let found: Promise<Judge | undefined> | undefined;
  // Undefined for a node that has just ended, and for a version of mfd without such a description.
  const find = async (): Promise<Judge | undefined> => {
    const served = await node.api('GET', 'openapi-admin.yaml', {key: null}).catch(() => undefined);
    if (served?.status !== 200) {
      found = undefined;
      return undefined;
    }
    const text = served.body.toString();
    const judge = judges.get(text) ?? createJudge(text, {namesAllHeaders: true});
    judges.set(text, judge);
    return judge;
  };

  return {
    async faults({method, path, request}, answer) {
      found ??= find();
      const judge = await found;
      const {pathname, search} = new URL(`https://node/api/v1/${path.replace(/^\//, '')}`);
      // A HEAD has the headers of its GET, and no content to check.
      if (!judge || method === 'HEAD' || !pathname.startsWith('/api/v1/')) return '';
      const isSuccess = answer.status < 300;
      const name = judge.nameOf(method, pathname.replace('/api/v1', ''), answer.status);
      if (name === undefined) return isSuccess && !isDescription(pathname) ? 'is not described' : '';
      return judge.faults(name, answer) || (isSuccess ? judge.requestFaults(name, `${pathname}${search}`, request) : '');
    },
  };
};

const isDescription = (pathname: string): boolean => /^\/api\/v1\/openapi(-admin)?\.yaml$/.test(pathname);
