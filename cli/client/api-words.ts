// Translates error texts of the API, which name requests, into commands and options. `mfctl api` does not: its users typed the request.

const otherVersion = 'this node does not know this request; it may run another version than this mfctl';

const translations: readonly (readonly [ofApi: RegExp, ofMfctl: string])[] = [
  // The hint of the error names the command.
  [/; GET \/\S+ lists (?:them|the nodes)$/, ''],
  [/\bGET \/mail\/quarantine shows\b/, 'mfctl quarantine list shows'],
  [/\bchange it with PUT\b/, 'change it with mfctl domain update'],
  [/\?force=true\b/, '--force'],
  [/\bwithout strict=true\b/, 'without --strict'],
  [/^send an API key in the X-API-Key header$/, 'no API key was given'],
  [/^there is nothing at this path\b.*$/, otherVersion],
  [/^[A-Z]+ is not possible here$/, otherVersion],
];

export const inMfctlWords = (detail: string): string =>
  translations.reduce((text, [ofApi, ofMfctl]) => text.replace(ofApi, () => ofMfctl), detail);

export const inApiWords = (detail: string): string => detail;
