// Mail from smtp-source, the load program of Postfix.
import {spawn} from 'node:child_process';

export const source = '/usr/sbin/smtp-source';

interface Load {
  sessions: number;
  count: number;
  /** False: a session for each mail. */
  isKept: boolean;
}

/** Sends mails of 10 KB to ben@example.com. Rejects when one is refused. */
export const sendBySource = async (port: number, {sessions, count, isKept}: Load): Promise<void> => {
  const mail = ['-f', 'ada@example.net', '-t', 'ben@example.com', '-l', '10240'];
  const args = ['-s', String(sessions), '-m', String(count), ...mail, ...(isKept ? ['-d'] : []), `127.0.0.1:${port}`];
  const child = spawn(source, args, {stdio: ['ignore', 'inherit', 'inherit']});
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`smtp-source: exit ${code}`);
};
