// `npm run man`: writes the pages that are committed beside this file.
import {writeFile} from 'node:fs/promises';
import {makePage, pageNames, pagePath} from './pages.ts';

for (const name of pageNames) await writeFile(pagePath(name), await makePage(name));
