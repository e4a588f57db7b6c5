/** Why mail is held. */
export const reasons = ['spam', 'phishing', 'sandbox', 'rbl'] as const;
export type Reason = (typeof reasons)[number];
