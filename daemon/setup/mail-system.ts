// Mail system of this machine: the configuration of Postfix, and Rspamd.
import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {childEnvironment} from '../../shared/child-environment.ts';
import {findLog, type LogPaths, type LogSource} from './log-source.ts';
import {rspamdOptions} from './node-config.ts';
import {listEntries, type PostfixService, type PostfixTool} from './postfix-tool.ts';
import {bytesOf, isThere} from './setup-record.ts';

export interface MailSystem {
  configDir: string;
  queueDir: string;
  /** The group that Postfix's own programs run as. */
  gid: number;
  /** Settings in main.cf, each on one line. */
  explicit: Map<string, string>;
  /** Default of `relay_domains`: empty, except in the compatibility mode of old versions. */
  defaultRelayDomains: string;
  /** The value with `$name` replaced. */
  restrictions: string;
  destinations: string;
  milterProtocol: string;
  services: PostfixService[];
  /** Undefined when Rspamd is not installed. */
  rspamd: {optionsFile: string; options: 'none' | 'ours' | 'foreign'} | undefined;
  /** The socket of the helper that systemd runs; undefined when its unit is not installed. */
  helperSocket: string | undefined;
  log: LogSource;
}

export interface Paths extends LogPaths {
  rspamdDir: string;
  unitDirs: string[];
}

export const standardPaths: Paths = {
  rspamdDir: '/etc/rspamd',
  unitDirs: ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'],
  journalDir: '/run/systemd/journal',
  logFiles: ['/var/log/mail.log', '/var/log/maillog'],
};

/** `uid`: the user of the node. */
export const surveyMailSystem = async (postfix: PostfixTool, uid: number, paths: Paths): Promise<MailSystem> => {
  const {rspamdDir, unitDirs} = paths;
  const [relayed, recipients, owner] = [
    await postfix.expanded('smtpd_relay_restrictions'),
    await postfix.expanded('smtpd_recipient_restrictions'),
    await postfix.expanded('mail_owner'),
  ];
  const explicit = await postfix.explicit();
  const isDefaultEmpty = explicit.has('relay_domains') || (await postfix.expanded('relay_domains')) === '';
  const optionsFile = join(rspamdDir, 'local.d', 'options.inc');
  const hasUnit = (await Promise.all(unitDirs.map(async folder => isThere(join(folder, 'mfd-postfix.socket'))))).includes(true);
  return {
    configDir: postfix.configDir,
    queueDir: await postfix.expanded('queue_directory'),
    gid: Number((await promisify(execFile)('id', ['-g', '--', owner], {env: childEnvironment(process.env)})).stdout),
    explicit,
    defaultRelayDomains: isDefaultEmpty ? '' : await postfix.value('relay_domains'),
    restrictions: `${relayed} ${recipients}`,
    destinations: [...new Set(listEntries(await postfix.expanded('mydestination')))].join(', '),
    milterProtocol: await postfix.expanded('milter_protocol'),
    services: await postfix.services(),
    rspamd: (await isThere(join(rspamdDir, 'rspamd.conf'))) ? {optionsFile, options: await ownerOf(optionsFile)} : undefined,
    helperSocket: hasUnit ? '/run/mfd-postfix.sock' : undefined,
    log: await findLog(postfix, uid, paths),
  };
};

const ownerOf = async (optionsFile: string): Promise<'none' | 'ours' | 'foreign'> => {
  const bytes = await bytesOf(optionsFile);
  if (bytes === undefined) return 'none';
  return bytes.toString() === rspamdOptions ? 'ours' : 'foreign';
};
