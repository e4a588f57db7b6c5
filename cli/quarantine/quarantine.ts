import {createWriteStream} from 'node:fs';
import {pipeline} from 'node:stream/promises';
import type {Command} from 'commander';
import {CliError, usageError} from '../errors.ts';
import {fileFailure} from '../files/text-file.ts';
import type {Session} from '../session.ts';
import {parseMailId} from './held-mail-columns.ts';
import {addActCommands} from './quarantine-act.ts';
import {addListCommands} from './quarantine-list.ts';
import {addSenderCommands} from './quarantine-sender.ts';
import {addShowCommand} from './quarantine-show.ts';
import {addWatchCommand} from './quarantine-watch.ts';

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
    .option('--output-file <file>', 'write it to this file')
    .option('--force', 'write it to a terminal anyway')
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
  const body = await client.quarantine.body(mail);
  if (outputFile !== undefined) return save(body, outputFile);
  await pipeline(body, stdout, {end: false}).catch(error => {
    // The reader of the pipe has closed it.
    if (error.code !== 'EPIPE') throw error;
  });
};

const save = (body: AsyncIterable<Buffer>, file: string): Promise<void> =>
  pipeline(body, createWriteStream(file, {mode: 0o600})).catch(error => {
    throw error instanceof CliError ? error : fileFailure(file, error, 'write');
  });
