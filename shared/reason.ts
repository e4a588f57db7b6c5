/** Reasons for holding mail. */
export const reasons = ['spam', 'phishing', 'sandbox', 'rbl'] as const;
export type Reason = (typeof reasons)[number];
