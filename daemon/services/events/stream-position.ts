// Position in a stream of events of mail, as the id of each of them: how far the log of each node was sent.
import {nodeIdPattern} from '../../../shared/fields.ts';
import {jsonIn} from '../../../shared/json-in.ts';

/** The place in each log, by the name of its source: the node, or an empty text for the log that all nodes share. */
export type StreamPosition = ReadonlyMap<string, string>;

export const writePosition = (position: StreamPosition): string =>
  Buffer.from(JSON.stringify([...position])).toString('base64url');

/** More than a request can have. */
const maxChars = 16_384;
/** Of a place in one log. */
export const placePattern = /^[\w.@-]{1,60}$/;

/** Undefined for what is none: it is damaged, or an id of version 0.8. */
export const readPosition = (id: string): StreamPosition | undefined => {
  if (id.length > maxChars) return undefined;
  const entries = jsonIn(Buffer.from(id, 'base64url').toString());
  return Array.isArray(entries) && entries.length > 0 && entries.every(isEntry) ? new Map(entries) : undefined;
};

const isEntry = (entry: unknown): entry is [string, string] => {
  if (!Array.isArray(entry) || entry.length !== 2) return false;
  const [name, place] = entry as unknown[];
  return isName(name) && typeof place === 'string' && placePattern.test(place);
};

const isName = (name: unknown): boolean => typeof name === 'string' && (name === '' || nodeIdPattern.test(name));
