// URI in a certificate that says which node it is of. Servers between nodes show such certificates, and the API does not.
export const nodeUriPrefix = 'urn:mfd:node:';
