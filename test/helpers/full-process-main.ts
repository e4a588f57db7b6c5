// A process that can open no more files, and asks for a mail to be read. Prints what becomes of it.
import {openSync} from 'node:fs';
import {createReaderPool} from '../../daemon/mail/readers/reader-pool.ts';

const question = {ip: '192.0.2.1', helo: 'x', sender: 'honest', mta: 'mx'};
const pool = createReaderPool({file: new URL('none.mjs', import.meta.url)});
const reading = async () => pool.read({kind: 'spf', question}, {}).catch(error => error.message as string);
// Loads and opens what printing needs.
process.stdout.write('');
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  const result = await reading();
  process.stdout.write(`${result}\n`);
}
await pool.close();
