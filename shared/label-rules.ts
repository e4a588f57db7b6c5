// Text that a person typed as a label: one line, no control characters, nothing that UTF-8 cannot carry.

/** Without flags: the interface description has no place for them. */
export const labelPattern = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$/;

export const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);
