import test from 'ava';
import type {FilteredMail} from '../../../../daemon/services/intake/filters.ts';
import {createIntake} from '../../../../daemon/services/intake/intake.ts';
import type {Score, Verified} from '../../../../daemon/services/intake/mail.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {receivedMail} from '../../../helpers/received-mail.ts';

const openIntake = (needs: Partial<Parameters<typeof createIntake>[0]>) =>
  createIntake({
    domains: {} as never,
    scorer: {} as never,
    verifier: () => undefined,
    weigh: () => [],
    isUndecided: () => false,
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

test('a filter that needs authentication takes no sender as authentic where the reader may see another author', async t => {
  const mail = receivedMail({envelope: {sender: 'x@evil.test'}});
  const isAuthenticWith = async (authorship: Verified['authorship']): Promise<boolean | undefined> => {
    let isAuthentic: boolean | undefined;
    const domain = {id: 1, reject_threshold: 15, quarantine_threshold: 6} as Domain;
    const verified = {
      authorship,
      dmarc: {result: 'none', aligned: []},
      results: {spf: {result: 'pass', domain: 'evil.test'}, dkim: []},
    } as never;
    const intake = openIntake({
      verifier: () => ({verify: async () => verified}),
      scorer: {score: async () => ({score: 0, symbols: [], reason: 'spam'})},
      domains: {
        findById: () => domain,
        filtersOf: () => ({
          async apply(filtered: FilteredMail, score: Score) {
            isAuthentic = filtered.isAuthentic;
            return {score};
          },
        }),
      } as never,
    });
    await intake.judge(mail, {direction: 'inbound', domain});
    return isAuthentic;
  };

  t.true(await isAuthenticWith('clear'));
  t.false(await isAuthenticWith('several'));
  t.false(await isAuthenticWith('unclear'));
});
