// npm run openapi [VERSION]: keeps the interface descriptions as this version serves them, for the next one to be compared with.
import {mkdir, writeFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {adminText, curatedText} from '../../daemon/http/api/openapi-text.ts';
import manifest from '../../package.json' with {type: 'json'};

const [version = manifest.version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is not a version, such as ${manifest.version}`);

const folder = fileURLToPath(new URL('./', import.meta.url));
await mkdir(folder, {recursive: true});
for (const [name, text] of [
  [`${version}.yaml`, curatedText],
  [`${version}-admin.yaml`, adminText],
] as const) {
  await writeFile(folder + name, text);
  process.stdout.write(`docs/openapi/${name}\n`);
}
