// A private Postfix with mail on hold, whose newest mails are listed by Postfix's own programs.
import {spawn, spawnSync} from 'node:child_process';
import type {Owner} from '../../helpers/daemon.ts';
import {isInstalled} from '../../helpers/installed.ts';
import {postfixMissing, startPostfix} from '../../helpers/postfix.ts';
import {holdEverything} from '../../helpers/postfix-node.ts';
import {sendMany} from '../../helpers/send-many.ts';

/** The reason why there is none to compare with, or undefined. */
export const heldInPostfixMissing = (): string | undefined =>
  postfixMissing() ?? (isInstalled('jq') ? undefined : 'jq is not installed');

export interface HeldInPostfix {
  /** Lists the newest 100, as an administrator would at a shell. */
  newest(): Promise<void>;
}

export const startHeldInPostfix = async (owner: Owner, count: number): Promise<HeldInPostfix> => {
  const postfix = await startPostfix(owner, {settings: {...holdEverything, relay_domains: 'example.com', in_flow_delay: '0'}});
  await sendMany({
    port: postfix.port,
    count,
    mail: n => ({
      to: `user${n % 1000}@example.com`,
      raw: `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: Offer number ${n}\r\nMessage-Id: <${n}@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(26)}`,
    }),
  });
  const command = `postqueue -c ${postfix.configDir} -j | jq -s 'sort_by(-.arrival_time) | .[:100]'`;
  const held = spawnSync('/bin/sh', ['-c', `postqueue -c ${postfix.configDir} -j | grep -c '"hold"'`])
    .stdout.toString()
    .trim();
  if (Number(held) !== count) throw new Error(`${held} of ${count} mails are on hold in Postfix`);
  return {newest: async () => shell(command)};
};

const shell = async (script: string): Promise<void> => {
  const child = spawn('/bin/sh', ['-c', script], {stdio: ['ignore', 'pipe', 'inherit']});
  child.stdout.resume();
  const code = await new Promise(resolve => child.once('close', resolve));
  if (code !== 0) throw new Error(`${script}: exit ${code}`);
};
