// The interface description as a judge of real answers.
import {Ajv2020, type ValidateFunction} from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {parse} from 'yaml';
import type {ApiAnswer} from './node.ts';

interface Operation {
  operationId: string;
  tags: string[];
  deprecated?: boolean;
  security?: object[];
  parameters?: {name: string; in: string; schema: Record<string, unknown>}[];
  requestBody?: {required?: boolean; content: Record<string, {schema: object}>};
  responses: Record<string, {headers?: Record<string, object>; content?: Record<string, {schema: object}>}>;
}

export interface Description {
  openapi: string;
  info: {version: string};
  security?: object[];
  tags: {name: string}[];
  paths: Record<string, Record<string, Operation>>;
}

export interface Judge {
  document: Description;
  /** `GET /domains/{id} 404` for an answer of a described operation, undefined for any other. */
  nameOf(method: string, path: string, status: number): string | undefined;
  /** What is wrong with the answer by the description, as text; empty when nothing is. */
  faults(name: string, answer: ApiAnswer): string;
}

export const createJudge = (yaml: string): Judge => {
  const document = parse(yaml) as Description;
  const ajv = new Ajv2020({strict: false, allErrors: true});
  addFormats.default(ajv);
  ajv.addSchema(document, 'description');
  const validators = new Map<string, ValidateFunction>();

  const validatorOf = (pointer: string): ValidateFunction => {
    const validator = validators.get(pointer) ?? ajv.compile({$ref: `description#${pointer}`});
    validators.set(pointer, validator);
    return validator;
  };
  const templates = Object.keys(document.paths).map(template => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

  return {
    document,

    nameOf(method, path, status) {
      const bare = `/${path.replace(/^\//, '').split('?')[0]}`;
      const found = templates.find(({pattern}) => pattern.test(bare))?.template;
      return found && document.paths[found]?.[method.toLowerCase()] ? `${method} ${found} ${status}` : undefined;
    },

    faults(name, {json}) {
      const [method = '', template = '', status = ''] = name.split(' ');
      const response = document.paths[template]?.[method.toLowerCase()]?.responses[status];
      if (!response?.content?.['application/json']) return `${name} is not described`;
      const steps = ['paths', template, method.toLowerCase(), 'responses', status, 'content', 'application/json', 'schema'];
      const pointer = steps.map(step => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
      const validate = validatorOf(pointer);
      return validate(json) ? '' : `${name}: ${ajv.errorsText(validate.errors)}`;
    },
  };
};
