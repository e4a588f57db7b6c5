// A second process on a node's database: node --import=tsx config-writer-main.ts DATABASE COUNT
import {openDatabase} from '../../daemon/store/sqlite/database.ts';
import {newFields} from './config-history.ts';
import {testConfiguration} from './database.ts';

const [filename = '', count = '0'] = process.argv.slice(2);
const database = await openDatabase(filename);
const configuration = testConfiguration(database);
let done = 0;
for (; done < Number(count); done += 1)
  await configuration.change(async tx => {
    const id = await tx.nextId('domain');
    await tx.create('domain', id, newFields.domain(`there-${done}.test`));
  });
await database.close();
process.stdout.write(`${done}\n`);
