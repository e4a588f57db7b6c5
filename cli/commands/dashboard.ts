import type {Command} from 'commander';
import type {Session} from '../session.ts';

export const addDashboardCommand = (program: Command, _session: Session): void => {
  program
    .command('dashboard')
    .alias('top')
    .description('watch and work on the cluster, full screen')
    .option('--read-only', 'change nothing')
    .action(async () => {
      const {startDashboard} = await import('../tui/start-dashboard.tsx');
      await startDashboard();
    });
};
