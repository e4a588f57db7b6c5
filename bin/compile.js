// Part of the build: runs mfctl and keeps what V8 has compiled for it. One command is the help, the other asks a node for its
// held mail as far as that is possible without one: nothing listens on port 1.
import {writeFileSync} from 'node:fs';
import {compiledSoFar, main} from './bundle.js';

process.env.XDG_CONFIG_HOME = '/nonexistent';
process.env.MFCTL_API_KEY = 'mfk_none';
await main(['--help']);
await main(['quarantine', 'list', '--url', 'https://127.0.0.1:1']);
writeFileSync(new URL('../dist/mfctl.cache', import.meta.url), compiledSoFar());
