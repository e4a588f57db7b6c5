import {mkdir, rm, writeFile} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {certificateWarnings} from '../../../daemon/commands/check-config.ts';
import {configSchema} from '../../../daemon/config/schema.ts';
import {dataFolder} from '../../../daemon/node/data-folder.ts';
import {testFolder} from '../../helpers/store.ts';

const dayMs = 24 * 3600 * 1000;
const start = Date.parse('2026-01-01T00:00:00Z');

const arrange = async (t: ExecutionContext) => {
  const folder = dataFolder(await testFolder(t));
  const warningsAt = async (days: number, api: object = {}) =>
    certificateWarnings(folder, {config: configSchema.parse({api})}, start + days * dayMs);
  const issue = async () => {
    await mkdir(folder.tls);
    const {cert} = await issueLeaf(await createAuthority(start), {commonName: 'x', hosts: ['localhost']}, start);
    for (const file of [folder.nodeCert, folder.apiCert]) await writeFile(file, cert);
  };
  return {folder, issue, warningsAt};
};

test('certificates that have ended, or end within 14 days, are warned of with what to do', async t => {
  const {folder, issue, warningsAt} = await arrange(t);
  await issue();

  const [fresh, soon, over] = [await warningsAt(75), await warningsAt(77), await warningsAt(90)];

  t.deepEqual(fresh, []);
  const wayOut = `start the node that has tls/ca.key, or put that file into ${folder.tls} for one start`;
  t.deepEqual(soon, [
    `${folder.nodeCert} expires on 2026-04-01 and has not been renewed; then the node is cut off from the cluster, while mail goes on; ${wayOut}`,
    `${folder.apiCert} expires on 2026-04-01 and has not been renewed; then clients of the API refuse it; ${wayOut}`,
  ]);
  t.deepEqual(over, [
    `${folder.nodeCert} expired on 2026-04-01: the node is cut off from the cluster, while mail goes on; ${wayOut}`,
    `${folder.apiCert} expired on 2026-04-01: clients of the API refuse it; ${wayOut}`,
  ]);
});

test('no warning is of a certificate that nobody is shown, or that the next start renews, or that is not there yet', async t => {
  const {folder, issue, warningsAt} = await arrange(t);
  const before = await warningsAt(0);
  await issue();

  const own = await warningsAt(90, {cert_file: 'c.pem', key_file: 'k.pem'});
  await writeFile(folder.caKey, '');
  const withKey = await warningsAt(90);
  await rm(folder.caKey);

  t.deepEqual([before, withKey], [[], []]);
  t.is(own.length, 1);
  t.true(own[0]?.startsWith(folder.nodeCert));
});
