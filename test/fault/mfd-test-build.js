// Launcher of the daemon that fault tests can end at its crash points; npm run build:test builds it.
Reflect.deleteProperty(Object.prototype, '__proto__');
const {main} = await import('../../build/test/mfd.js');

process.exit(await main(process.argv.slice(2)));
