// Name of the relaying node in an audit entry, when the request reached another node than the one that acted and has the entry.

const relayText = (nodeId: string): string => `asked through ${nodeId}`;

/** At the start of the detail, as the rest may be hostile text. */
export const relayIn = (detail: string): string | undefined => /^asked through ([\w.-]{1,63})(?:; |$)/.exec(detail)?.[1];

/** The detail of an entry, after the node that relayed the request, if one did. */
export const relayedDetail = (relayedBy: string | undefined, detail = ''): string =>
  [...(relayedBy === undefined ? [] : [relayText(relayedBy)]), ...(detail ? [detail] : [])].join('; ');
