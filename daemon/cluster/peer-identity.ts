// Identity of a node in its certificate, as URIs among the subject alternative names: its id and its number. Numbers are never
// reused, so that a node that takes the name of a removed one is not mistaken for it.
import type {NodeIdentity} from '../services/access/actor.ts';

const idPrefix = 'urn:mfd:node:';
const noPrefix = 'urn:mfd:node-no:';

export const identityUris = ({nodeId, nodeNo}: NodeIdentity): string[] => [`${idPrefix}${nodeId}`, `${noPrefix}${nodeNo}`];

/** Reads the subject alternative names of a verified certificate, as node:tls formats them. */
export const identityIn = (subjectAltName: string | undefined): NodeIdentity | undefined => {
  const valueIn = (prefix: string) => uriIn(subjectAltName, prefix);
  const nodeId = valueIn(idPrefix);
  const nodeNo = Number(valueIn(noPrefix));
  return nodeId !== undefined && Number.isSafeInteger(nodeNo) && nodeNo > 0 ? {nodeId, nodeNo} : undefined;
};

/** The host names and addresses among the subject alternative names. */
export const hostsIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? []);

export const urisIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^URI:(.+)$/.exec(name)?.[1] ?? []);

/** The text after `prefix` in the first URI that begins with it. */
export const uriIn = (subjectAltName: string | undefined, prefix: string): string | undefined => {
  const start = `URI:${prefix}`;
  return namesIn(subjectAltName)
    .find(name => name.startsWith(start))
    ?.slice(start.length);
};

/** Node quotes names that contain a comma, as these could be mistaken for several names. The authority issues no such name. */
const namesIn = (subjectAltName: string | undefined): string[] =>
  subjectAltName === undefined || subjectAltName.includes('"') ? [] : subjectAltName.split(', ');
