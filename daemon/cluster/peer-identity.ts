// Who a node is, as its certificate says it in URIs among the subject alternative names: its id, and the number that no
// other node ever had, so that a node which takes over the name of a removed one is not mistaken for it.

export interface NodeIdentity {
  nodeId: string;
  nodeNo: number;
}

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

/** What follows `prefix` in the first URI that begins with it. */
export const uriIn = (subjectAltName: string | undefined, prefix: string): string | undefined => {
  // Quotes are around names that hold a comma, and might be made to look like several. The authority issues none.
  if (subjectAltName === undefined || subjectAltName.includes('"')) return undefined;
  const start = `URI:${prefix}`;
  return subjectAltName
    .split(', ')
    .find(name => name.startsWith(start))
    ?.slice(start.length);
};
