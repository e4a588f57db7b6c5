// A connection that is cut silently: nothing arrives, and no error occurs.
import test from 'ava';
import {scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {eventually} from '../helpers/eventually.ts';
import {isTmuxInstalled} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] a node that falls silent is named so, while all ages go on, and is live again when it speaks', async t => {
  const node = scriptedNode({pingMs: 500});
  const {terminal} = await startScripted(t, node.answers);
  await terminal.shows(/● live.*mx2 +● online/s);

  node.isSilent = true;
  await terminal.shows(/✗ node does not answer, heard \d+s ago: localhost:\d+ did not answer/);

  const ageOf = async (): Promise<number> => Number(/mx2 +● online +(\d+)s ago/.exec(await terminal.screen())?.[1]);
  const before = await ageOf();
  await eventually(async () => (await ageOf()) > before);
  t.true(before >= 4);

  node.isSilent = false;
  await terminal.shows('● live', 60_000);
});
