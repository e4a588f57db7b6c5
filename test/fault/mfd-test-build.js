// Launcher of the daemon that fault tests can end at its crash points; npm run build:test builds it.
import {fileURLToPath} from 'node:url';
import {loadBundle} from '../../bin/bundle.js';

Reflect.deleteProperty(Object.prototype, '__proto__');
const {main} = loadBundle('mfd', fileURLToPath(new URL('../../build/test', import.meta.url)));

process.exit(await main(process.argv.slice(2)));
