// Kills of mfd while Postfix sends it mail, repeated many times: in the end Postfix's hold queue and mfd's list are the same.
import {setTimeout as delay} from 'node:timers/promises';
import {eventually} from '../helpers/eventually.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {startPostfixNode} from '../helpers/postfix-node.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing();
const ifPostfix = serialWith('Postfix', missing);

const kills = 8;

/** The slower a node starts, the more mail Postfix would take alone meanwhile: thousands of mails take it seconds to list. */
const mailsPerStart = 100;

/** Sends until it is stopped, as much as it is given; `stop` resolves with the queue ids of all acknowledged mails. */
const startSender = (mail: (raw: string) => Promise<{reply: {code: number; text: string}}>) => {
  const acknowledged: string[] = [];
  let left = 0;
  let isOver = false;
  const send = async (): Promise<void> => {
    for (let n = 0; !isOver; n += 1) {
      if (left > 0) {
        left -= 1;
        const {reply} = await mail(`Subject: mail ${n}\r\nFrom: <a@example.net>\r\n\r\nbody\r\n`);
        if (reply.code === 250) acknowledged.push(/ queued as (\w+)$/.exec(reply.text)?.[1] ?? reply.text);
      }
      await delay(30);
    }
  };
  const running = Promise.all(Array.from({length: 4}, send));
  return {
    give: (count: number) => {
      left = count;
    },
    stop: async (): Promise<string[]> => {
      isOver = true;
      await running;
      return acknowledged;
    },
  };
};

for (const action of ['tempfail', 'quarantine'])
  ifPostfix(`killed between hold and row, nothing on hold is missing from the list (${action} while mfd is down)`, async t => {
    const node = await startPostfixNode(t, {milter: 'unix', domain: holdAll, settings: {milter_default_action: action}});
    const sender = startSender(async raw => node.mail(raw));

    for (let n = 0; n < kills; n += 1) {
      sender.give(mailsPerStart);
      await delay(150 + Math.random() * 300);
      await node.stop('SIGKILL');
      await node.start();
    }
    const acknowledged = await sender.stop();

    const listed = await eventually(async () => {
      const [onHold, held] = await Promise.all([node.onHold(), node.allHeld()]);
      return onHold.length === held.length && held;
    });
    const onHold = new Set(await node.onHold());
    t.log(`${kills} kills, ${acknowledged.length} acknowledged, ${onHold.size} on hold`);
    t.true(acknowledged.length > 0);
    t.deepEqual(
      acknowledged.filter(id => !onHold.has(id)),
      [],
    );
    t.deepEqual(
      listed.filter(({queue_id}) => !onHold.has(queue_id)),
      [],
    );
    const unjudged = listed.filter(({symbols}) => symbols.includes('POSTFIX_HOLD'));
    // The row is written first, so only mail that Postfix held on its own has no score.
    if (action === 'tempfail') t.deepEqual(unjudged, []);
    else t.log(`${unjudged.length} were put on hold by Postfix alone`);
    t.true(listed.every(({subject}) => /^mail \d+$/.test(subject)));
  });

ifPostfix('with mfd down mail is answered as milter_default_action says, and nothing is lost', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', settings: {milter_default_action: 'tempfail'}});
  await node.stop();

  const refused = (await node.mail('Subject: x\r\n\r\nbody\r\n')).reply;
  await node.postfix.configure({milter_default_action: 'accept'});
  const taken = await eventually(async () => {
    const {reply} = await node.mail('Subject: y\r\n\r\nbody\r\n');
    return reply.code === 250 && reply;
  });

  t.is(refused.code, 451, refused.text);
  t.is(taken.code, 250);
  await node.sunk(1);
});
