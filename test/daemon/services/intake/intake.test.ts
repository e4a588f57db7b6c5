import test from 'ava';
import {createIntake} from '../../../../daemon/services/intake/intake.ts';

const openIntake = (needs: Partial<Parameters<typeof createIntake>[0]>) =>
  createIntake({
    domains: {} as never,
    scorer: {} as never,
    verifier: () => undefined,
    weigh: () => [],
    isForReports: () => false,
    holder: {} as never,
    smarthost: () => undefined,
    hasSpace: () => true,
    isStoreReachable: () => true,
    isRemoved: () => false,
    onScorerFailure: () => 'tempfail',
    onUnscored: () => {},
    ...needs,
  });

test('a node that cannot reach its store refuses mail with 451 4.3.0 before its sender is named, and takes it again afterwards', t => {
  let isReachable = false;
  const intake = openIntake({isStoreReachable: () => isReachable});

  const away = intake.canTakeMail();
  isReachable = true;

  t.is(away?.code, 451);
  t.regex(away?.text ?? '', /^4\.3\.0 /);
  t.is(intake.canTakeMail(), undefined);
});

test('a full disk is told as such', t => {
  t.is(openIntake({hasSpace: () => false}).canTakeMail()?.code, 452);
});
