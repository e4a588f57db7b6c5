import {gunzipSync} from 'node:zlib';

/** The aggregate report in the mail that brings it. */
export const reportXml = (mail: Buffer): string => {
  const [, encoded = ''] =
    /Content-Type: application\/gzip[\s\S]*?\r\n\r\n([A-Za-z0-9+/=\r\n]+)/.exec(mail.toString('latin1')) ?? [];
  return gunzipSync(Buffer.from(encoded, 'base64')).toString();
};
