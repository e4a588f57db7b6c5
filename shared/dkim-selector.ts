export const maxSelectorChars = 63;

/** A selector is one or more DNS labels (RFC 6376 section 3.1). */
export const selectorShape = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
