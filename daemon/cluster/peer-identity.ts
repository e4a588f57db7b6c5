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
  const uris = (subjectAltName ?? '').split(', ').filter(name => name.startsWith('URI:'));
  const valueIn = (prefix: string) => uris.find(uri => uri.startsWith(`URI:${prefix}`))?.slice(`URI:${prefix}`.length);
  const nodeId = valueIn(idPrefix);
  const nodeNo = Number(valueIn(noPrefix));
  return nodeId !== undefined && Number.isSafeInteger(nodeNo) && nodeNo > 0 ? {nodeId, nodeNo} : undefined;
};
