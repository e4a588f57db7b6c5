// A second process on a node's database: node --import=tsx config-writer-main.ts DATABASE COUNT

import {newFields} from './config-history.ts';
import {openTestStore, testConfiguration} from './store.ts';

const [filename = '', count = '0'] = process.argv.slice(2);
const store = await openTestStore(filename);
const configuration = testConfiguration(store);
let done = 0;
for (; done < Number(count); done += 1)
  await configuration.change(async tx => {
    const id = await tx.nextId('domain');
    await tx.create('domain', id, newFields.domain(`there-${done}.test`));
  });
await store.close();
process.stdout.write(`${done}\n`);
