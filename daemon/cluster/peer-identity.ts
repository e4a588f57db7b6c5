// Who a node is, as its certificate says it in URIs among the subject alternative names: its id, and the number that no
// other node ever had, so that a node which takes over the name of a removed one is not mistaken for it.

import type {NodeIdentity} from '../services/ports.ts';

const idPrefix = 'urn:mfd:node:';
const noPrefix = 'urn:mfd:node-no:';

export const identityUris = ({nodeId, nodeNo}: NodeIdentity): string[] => [`${idPrefix}${nodeId}`, `${noPrefix}${nodeNo}`];

/** From the subject alternative names of a verified certificate, as node:tls writes them. */
export const identityIn = (subjectAltName: string | undefined): NodeIdentity | undefined => {
  const valueIn = (prefix: string) => uriIn(subjectAltName, prefix);
  const nodeId = valueIn(idPrefix);
  const nodeNo = Number(valueIn(noPrefix));
  return nodeId !== undefined && Number.isSafeInteger(nodeNo) && nodeNo > 0 ? {nodeId, nodeNo} : undefined;
};

/** The host names and addresses in them. */
export const hostsIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? []);

export const urisIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^URI:(.+)$/.exec(name)?.[1] ?? []);

/** What follows `prefix` in the first URI that begins with it. */
export const uriIn = (subjectAltName: string | undefined, prefix: string): string | undefined => {
  const start = `URI:${prefix}`;
  return namesIn(subjectAltName)
    .find(name => name.startsWith(start))
    ?.slice(start.length);
};

/** Quotes are around names that hold a comma, and might be made to look like several. The authority issues none. */
const namesIn = (subjectAltName: string | undefined): string[] =>
  subjectAltName === undefined || subjectAltName.includes('"') ? [] : subjectAltName.split(', ');
