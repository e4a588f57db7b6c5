import {pipeline} from 'node:stream/promises';
import type {Command} from 'commander';
import {usageError} from '../errors.ts';
import type {Session} from '../session.ts';
import {askOfMail} from './ended-mail.ts';
import {parseMailId} from './held-mail-columns.ts';
import {addActCommands} from './quarantine-act.ts';
import {addListCommands} from './quarantine-list.ts';
import {addSenderCommands} from './quarantine-sender.ts';
import {addShowCommand} from './quarantine-show.ts';
import {addWatchCommand} from './quarantine-watch.ts';
import {saveMail} from './save-mail.ts';

interface BodyFlags {
  outputFile?: string;
  force?: boolean;
}

export const addQuarantineCommands = (program: Command, session: Session): void => {
  const quarantine = program.command('quarantine').description('list, show, release or discard held mail');

  addListCommands(quarantine, session);
  addShowCommand(quarantine, session);

  quarantine
    .command('body')
    .description('write a held mail as it is, byte for byte')
    .argument('<id>', 'NODE/QUEUE, as quarantine list shows it')
    .option('--output-file <file>', 'write it to this new file')
    .option('--force', 'write it to a terminal, or over a file that exists')
    .addHelpText('after', '\n-o changes nothing here.\n\nExample:\n  mfctl quarantine body NODE/QUEUE --output-file mail.eml')
    .action((id: string, flags: BodyFlags) => writeBody(session, id, flags));

  addActCommands(quarantine, session);
  addSenderCommands(quarantine, session);
  addWatchCommand(quarantine, session);
};

const writeBody = async (session: Session, id: string, {outputFile, force}: BodyFlags): Promise<void> => {
  const mail = parseMailId(id);
  const {stdout} = session.terminal;
  if (outputFile === undefined && stdout.isTTY && !force)
    throw usageError(
      'a held mail can make a terminal do anything, so it is not written to one',
      'use --output-file FILE, or --force',
    );

  const client = await session.client();
  const body = () => askOfMail(client, mail, client.quarantine.body(mail));
  if (outputFile !== undefined) {
    const hint = 'choose another name, or repeat with --force';
    await saveMail(body, outputFile, {isForced: force ?? false, hint});
    return;
  }
  await pipeline(await body(), stdout, {end: false}).catch(error => {
    // The reader of the pipe has closed it.
    if (error.code !== 'EPIPE') throw error;
  });
};
