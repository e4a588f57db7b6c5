// An API description used to check real answers, and requests that were accepted.
import {createHash} from 'node:crypto';
import {readFileSync, renameSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Ajv2020, type ValidateFunction} from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {parse} from 'yaml';
import type {ApiAnswer, ApiRequest} from './api-call.ts';

interface Operation {
  operationId: string;
  summary?: string;
  tags: string[];
  deprecated?: boolean;
  security?: object[];
  parameters?: {name: string; in: string; required?: boolean; schema: Record<string, unknown>}[];
  requestBody?: {required?: boolean; content: Content};
  responses: Record<string, Response | {$ref: string}>;
}

type Content = Record<string, {schema: object}>;

interface Response {
  headers?: Record<string, {required?: boolean; schema: {type: string}}>;
  content?: Content;
}

export interface Description {
  openapi: string;
  info: {version: string};
  security?: object[];
  tags: {name: string}[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, object>>;
}

export interface Judge {
  document: Description;
  /** `GET /domains/{id} 404` for an answer of a described operation, undefined for any other. */
  nameOf(method: string, path: string, status: number): string | undefined;
  /** How the answer differs from the description, as text; empty when it conforms. */
  faults(name: string, answer: ApiAnswer): string;
  /** The same for a request that the node has accepted. */
  requestFaults(name: string, path: string, request: ApiRequest): string;
  /** The same for a value, by a schema of the components. */
  componentFaults(schema: string, value: unknown): string;
}

/** A byte order mark is ignored (RFC 8259 section 8.1 permits it). */
const parsed = (json: string): unknown => JSON.parse(json.replace(/^\uFEFF/, ''));

/** HTTP's own headers, and those that every answer has for browsers and proxies. */
const undescribedHeaders = new Set([
  ...['date', 'connection', 'keep-alive', 'content-type', 'content-length', 'transfer-encoding'],
  ...['cache-control', 'x-content-type-options', 'x-accel-buffering'],
]);

/** The runner's folder keeps the description as JSON: parsing its YAML takes 0.3 s of each process that checks answers. */
const readDescription = (yaml: string): Description => {
  const folder = process.env.TEST_PREPARED_NODE;
  if (folder === undefined) return parse(yaml) as Description;
  const file = join(folder, `${createHash('sha256').update(yaml).digest('hex')}.json`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Description;
  } catch {
    const description = parse(yaml) as Description;
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(description));
    renameSync(`${file}.${process.pid}`, file);
    return description;
  }
};

/** With `namesAllHeaders` an answer must not have a header that the description does not name. */
export const createJudge = (yaml: string, {namesAllHeaders = false} = {}): Judge => {
  const document = readDescription(yaml);
  const ajv = new Ajv2020({strict: false, allErrors: true});
  addFormats.default(ajv);
  ajv.addSchema(document, 'description');
  const validators = new Map<string, ValidateFunction>();

  const schemaFaults = (steps: string[], value: unknown): string => {
    const pointer = steps.map(step => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
    const validate = validators.get(pointer) ?? ajv.compile({$ref: `description#${pointer}`});
    validators.set(pointer, validate);
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };
  const templates = Object.entries(document.paths).map(([template, operations]) => ({
    template,
    operations,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`),
  }));
  const operationOf = (name: string) => {
    const [method = '', template = '', status = ''] = name.split(' ');
    const steps = ['paths', template, method.toLowerCase()];
    return {steps, operation: document.paths[template]?.[method.toLowerCase()], status};
  };
  /** A response is described where it is used, or as a component. */
  const responseOf = (name: string): {steps: string[]; response: Response} | undefined => {
    const {steps, operation, status} = operationOf(name);
    const response = operation?.responses[status];
    if (response === undefined || !('$ref' in response)) return response && {steps: [...steps, 'responses', status], response};
    const component = response.$ref.split('/').at(-1) ?? '';
    return {steps: ['components', 'responses', component], response: document.components.responses?.[component] as Response};
  };

  const headerFaults = ({headers: described = {}}: Response, {headers}: ApiAnswer): string[] => {
    const known = new Map(Object.entries(described).map(([name, header]) => [name.toLowerCase(), header]));
    const missing = [...known].filter(([name, {required}]) => required && headers[name] === undefined);
    const wrong = [...known].filter(
      ([name, {schema}]) => schema.type === 'integer' && headers[name] !== undefined && !/^\d+$/.test(String(headers[name])),
    );
    const unknown = Object.keys(headers).filter(name => namesAllHeaders && !known.has(name) && !undescribedHeaders.has(name));
    return [
      ...missing.map(([name]) => `the header ${name} is missing`),
      ...wrong.map(([name]) => `the header ${name} is no integer`),
      ...unknown.map(name => `the header ${name} is not described`),
    ];
  };
  const contentFaults = ({response: {content = {}}, steps}: {steps: string[]; response: Response}, answer: ApiAnswer): string => {
    const type = String(answer.headers['content-type']).split(';')[0] ?? '';
    if (content[type] === undefined) return `${type} is not described`;
    return type === 'application/json' ? schemaFaults([...steps, 'content', type, 'schema'], answer.json) : '';
  };

  return {
    document,

    nameOf(method, path, status) {
      const bare = `/${path.replace(/^\//, '').split('?')[0]}`;
      const found = templates.find(({pattern, operations}) => pattern.test(bare) && operations[method.toLowerCase()]);
      return found && `${method} ${found.template} ${status}`;
    },

    faults(name, answer) {
      const found = responseOf(name);
      if (found === undefined) return `${name} is not described`;
      const faults = [...headerFaults(found.response, answer), contentFaults(found, answer)].filter(fault => fault !== '');
      return faults.length === 0 ? '' : `${name}: ${faults.join('; ')}`;
    },

    requestFaults(name, path, {body, headers = {}}) {
      const {steps, operation} = operationOf(name);
      const known = operation?.parameters?.flatMap(parameter => (parameter.in === 'query' ? [parameter.name] : [])) ?? [];
      const faults = [...new URL(path, 'https://node/').searchParams.keys()]
        .filter(parameter => !known.includes(parameter))
        .map(parameter => `the parameter ${parameter} is not described`);
      const sent = (headers['Content-Type'] ?? 'application/json').split(';')[0] ?? '';
      // Every body may be sent as a patch (contract 2). This is described only where it really is a patch.
      const isPatch = operation?.requestBody?.content[sent] === undefined && sent === 'application/merge-patch+json';
      const type = isPatch ? 'application/json' : sent;
      const json = typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : (JSON.stringify(body) ?? '');
      if (json !== '' && operation?.requestBody?.content[type] !== undefined) {
        faults.push(schemaFaults([...steps, 'requestBody', 'content', type, 'schema'], parsed(json)));
      } else if (operation?.requestBody?.required) faults.push(`a body of type ${type} is not described`);
      const told = faults.filter(fault => fault !== '');
      return told.length === 0 ? '' : `${name} took what is not described: ${told.join('; ')}`;
    },

    componentFaults: (schema, value) => schemaFaults(['components', 'schemas', schema], value),
  };
};
