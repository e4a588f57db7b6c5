// Redraws of an idle dashboard: only when the displayed data change.
import test from 'ava';
import {type DrawnDashboard, drawDashboard} from '../../../helpers/dashboard/drawn-dashboard.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';

test.serial('a quiet screen is drawn every few seconds, and every second while a message stands', async t => {
  const clock = useFakeClock(t);
  let dashboard: DrawnDashboard | undefined;
  void drawDashboard(t, {screen: 'keys', now: clock.now}).then(drawn => {
    dashboard = drawn;
  });
  while (!dashboard) await clock.advance(50);
  const {send, drawings} = dashboard;
  const drawnWithin = async (ms: number): Promise<number> => {
    const before = drawings();
    await clock.advance(ms);
    return drawings() - before;
  };
  await clock.advance(15_000);

  const quiet = await drawnWithin(60_000);
  send('u');
  const counting = await drawnWithin(9000);

  t.true(quiet >= 12 && quiet <= 36, `${quiet} drawings in a quiet minute`);
  t.true(counting >= 9, `${counting} drawings in 9 s of a message`);
});
