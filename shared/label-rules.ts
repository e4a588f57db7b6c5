// Rules for labels that a person typed: one line, no control characters, nothing that UTF-8 cannot encode.

/** Without flags, as the API description cannot express them. */
export const labelPattern = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$/;

export const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);
