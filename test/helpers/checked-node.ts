// A node whose answers are checked against the promises that all answers share, and against the administrators' API description.
import type {ApiAnswer} from './api-call.ts';
import {createDescriptionCheck} from './description-check.ts';
import type {TestNode} from './node.ts';

export const checkedNode = (node: TestNode): TestNode => {
  let description = createDescriptionCheck(node);
  return {
    ...node,
    async api(method, path, request = {}) {
      const answer = await node.api(method, path, request);
      checkAnswer(node, `${method} ${path}`, answer);
      const faults = await description.faults({method, path, request}, answer);
      if (faults !== '')
        throw new Error(`${method} ${path} answered ${answer.status}: ${faults}: ${answer.body.toString().slice(0, 500)}`);
      return answer;
    },
    runWith(program) {
      node.runWith(program);
      description = createDescriptionCheck(node);
    },
  };
};

/** Content that no answer may have: traces of the program, its files, its SQL, or a secret. */
const leaks = [
  /^\s+at .+:\d+/m,
  /node_modules|\.[cm]?[jt]s:\d/,
  /SQLITE|\bselect .+ from\b|\binsert into\b/i,
  /key_hash|PRIVATE KEY/,
];

const checkAnswer = ({data}: TestNode, what: string, {status, headers, json, body}: ApiAnswer): void => {
  const fail = (problem: string): never => {
    throw new Error(`${what} answered ${status} ${problem}: ${body.toString().slice(0, 500)}`);
  };
  if (!/^[0-9a-f]{20}$/.test(String(headers['x-request-id']))) fail('without X-Request-Id');
  if (headers['content-type'] === 'text/rfc822') return;

  const text = body.toString();
  // An auditor sees which folder was repaired. A drift names the field, and so does an audit entry about a key that was left out. Neither says more than the name.
  const told = text
    .replaceAll(`"action":"node.repair","target":"${data}"`, '')
    .replaceAll('{"name":"key_hash","here":"(secret)","there":"(another)"}', '')
    .replaceAll(/\bapi_key \d+ \((?:[a-z_]*, )*key_hash(?=[,)…])/g, '');
  const leaked = leaks.map(leak => told.search(leak)).find(at => at >= 0);
  if (leaked !== undefined) fail(`with something internal, ${told.slice(Math.max(0, leaked - 500), leaked + 200)}`);
  if (told.includes(data)) fail('with the path of its data');
  if (/mfk_\w{38}/.test(text) && status !== 201) fail('with the value of a key');
  if (json) checkEnvelope(json, {status, requestId: String(headers['x-request-id'])}, fail);
};

const checkEnvelope = (
  json: ApiAnswer['json'],
  {status, requestId}: {status: number; requestId: string},
  fail: (problem: string) => never,
): void => {
  if (Object.keys(json).sort().join(' ') !== 'data error message') fail('in no envelope');
  if (status < 400) {
    const messages = status === 201 ? ['Created'] : ['OK', 'Partial'];
    if (json.error !== null || !messages.includes(json.message)) fail('as no success');
    return;
  }
  if (json.data !== null || typeof json.message !== 'string') fail('as no failure');
  const {code, detail, fields, required_scopes, request_id, ...more} = json.error;
  if (Object.keys(more).length > 0 || !/^[a-z_]+$/.test(code) || !detail || request_id !== requestId) fail('with a wrong error');
  if (fields !== undefined && !Array.isArray(fields)) fail('with wrong fields');
  if ((required_scopes !== undefined) !== (code === 'insufficient_scope')) fail('with scopes out of place');
};
