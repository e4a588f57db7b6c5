import type {Command} from 'commander';
import type {Session} from '../session.ts';
import {ownKey} from './key-columns.ts';

export const addWhoamiCommand = (program: Command, session: Session): void => {
  session
    .prints(program.command('whoami'), ownKey)
    .description('show the key in use, what it may do, and which node answers')
    .action(async () => {
      const client = await session.client();
      const {data} = await client.me();
      session.printer().record(data, ownKey);
    });
};
