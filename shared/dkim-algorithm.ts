export const dkimAlgorithms = ['rsa-2048', 'ed25519'] as const;
export type DkimAlgorithm = (typeof dkimAlgorithms)[number];
