// Part of the build: runs mfctl and keeps what V8 has compiled for it. One command is the help, the other asks a node for its
// held mail as far as that is possible without one: nothing listens on port 1.
const {writeFileSync} = require('node:fs');
const {join} = require('node:path');
const {compiledSoFar, main} = require('./bundle.js');

const compile = async () => {
  process.env.XDG_CONFIG_HOME = '/nonexistent';
  process.env.MFCTL_API_KEY = 'mfk_none';
  await main(['--help']);
  await main(['quarantine', 'list', '--url', 'https://127.0.0.1:1']);
  writeFileSync(join(__dirname, '../dist/mfctl.cache'), compiledSoFar());
};

void compile();
