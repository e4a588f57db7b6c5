// Rspamd asked by nothing but a loop: the same mail and the same envelope, so many questions at a time.
import {request} from 'node:http';

export interface Asking {
  url: string;
  count: number;
  concurrency: number;
  mail: Buffer;
  to: string;
}

/** Answers a second. */
export const checkRate = async ({url, count, concurrency, mail, to}: Asking): Promise<number> => {
  const target = new URL('checkv2', `${url}/`);
  const headers = {
    From: '<ada@example.net>',
    Rcpt: `<${to}>`,
    IP: '127.0.0.1',
    Helo: 'client.test',
    'Queue-ID': 'bench1234567',
    Flags: 'groups',
    'Content-Length': mail.length,
  };
  let asked = 0;
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const outgoing = request(target, {method: 'POST', headers}, response => {
        if (response.statusCode !== 200) reject(new Error(`Rspamd answered ${response.statusCode}`));
        response.resume().on('end', resolve);
      });
      outgoing.on('error', reject);
      outgoing.end(mail);
    });
  const askOn = async () => {
    while (asked < count) {
      asked += 1;
      await ask();
    }
  };

  const startedAt = performance.now();
  await Promise.all(Array.from({length: concurrency}, askOn));
  return count / ((performance.now() - startedAt) / 1000);
};
