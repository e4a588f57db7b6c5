// How an audit entry names the node that was asked, where that was another one than the node that did it and has the entry.

export const relayText = (nodeId: string): string => `asked through ${nodeId}`;

/** It comes first in the detail: what follows may be the text of a stranger. */
export const relayIn = (detail: string): string | undefined => /^asked through ([\w.-]{1,63})(?:; |$)/.exec(detail)?.[1];
