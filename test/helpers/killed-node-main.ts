// A process with a reader that is busy without end. Prints the id of the reader.
import {pathToFileURL} from 'node:url';
import {bytesContent} from '../../daemon/mail/bytes-content.ts';
import {createReaderPool} from '../../daemon/mail/readers/reader-pool.ts';

const pool = createReaderPool({file: pathToFileURL(process.argv[2] ?? ''), maxMs: 600_000});
const sign = async (selector: string) => {
  const keys = [{domain: 'a.test', selector, algorithm: 'ed25519', private_key_pem: ''} as const];
  return pool.read({kind: 'sign', keys}, {content: bytesContent(Buffer.from('x'))});
};
const {pid} = JSON.parse(await sign('facts')) as {pid: number};
sign('hang').catch(() => {});
process.stdout.write(`${pid}\n`);
