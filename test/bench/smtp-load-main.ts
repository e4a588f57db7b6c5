// The process behind startSmtpLoad: bare sockets, precomputed commands, and replies parsed only as far as necessary.
import {connect} from 'node:net';
import type {LoadOrder, LoadResult} from './smtp-load.ts';
import {mailTo} from './smtp-mail.ts';

interface Step {
  bytes: Buffer;
  /** The expected beginning of the reply. */
  code: string;
}

const hello: Step = {bytes: Buffer.from('EHLO client.test\r\n'), code: '250'};
const quit: Step = {bytes: Buffer.from('QUIT\r\n'), code: '221'};

const mailSteps = ({to, sizeBytes}: LoadOrder): Step[] => [
  {bytes: Buffer.from('MAIL FROM:<ada@example.net>\r\n'), code: '250'},
  {bytes: Buffer.from(`RCPT TO:<${to}>\r\n`), code: '250'},
  {bytes: Buffer.from('DATA\r\n'), code: '354'},
  {bytes: Buffer.concat([mailTo(to, sizeBytes), Buffer.from('.\r\n')]), code: '250'},
];

/** The mails of one order, handed out one by one. */
const createSupply = ({count, perSecond}: LoadOrder) => {
  const startedAt = performance.now();
  let begun = 0;
  const secondsGone = () => (performance.now() - startedAt) / 1000;
  return {
    secondsGone,
    isEmpty: () => begun >= count,
    isDue: () => perSecond === undefined || begun < secondsGone() * perSecond,
    take: () => {
      begun += 1;
    },
    end: () => {
      begun = count;
    },
  };
};

interface Run {
  order: LoadOrder;
  supply: ReturnType<typeof createSupply>;
  steps: Step[];
  /** Sessions that wait until the next mail is due. */
  waiting: (() => void)[];
  accepted(): void;
  failed(failure: string): void;
}

/** One connection, from its greeting to its end. */
const session = ({order, supply, steps, waiting, accepted, failed}: Run): Promise<void> =>
  new Promise(resolve => {
    const socket = connect({host: '127.0.0.1', port: order.port, noDelay: true});
    socket.setEncoding('latin1');
    let state: 'greeting' | 'hello' | 'mail' | 'over' = 'greeting';
    let expected = '220';
    let at = 0;
    let left = order.mailsPerSession;
    let reply = '';

    const say = ({bytes, code}: Step): void => {
      expected = code;
      socket.write(bytes);
    };
    const begin = (): void => {
      if (supply.isEmpty() || left === 0) {
        state = 'over';
        say(quit);
      } else if (supply.isDue()) {
        supply.take();
        state = 'mail';
        at = 0;
        left -= 1;
        say(steps[0] ?? quit);
      } else waiting.push(begin);
    };
    const proceed = (): void => {
      if (state === 'over') socket.end();
      else if (state === 'greeting') {
        state = 'hello';
        say(hello);
      } else if (state === 'mail' && at < steps.length - 1) {
        at += 1;
        say(steps[at] ?? quit);
      } else {
        if (state === 'mail') accepted();
        begin();
      }
    };
    socket.on('data', (text: string) => {
      reply += text;
      if (!isComplete(reply)) return;
      const said = reply;
      reply = '';
      if (said.startsWith(expected)) proceed();
      else {
        failed(said.trim());
        socket.destroy();
      }
    });
    socket.on('error', error => failed(error.message));
    socket.on('close', () => {
      if (state !== 'over') failed(`closed while ${state}`);
      resolve();
    });
  });

/** One reply, of one line or several. */
const isComplete = (text: string): boolean => {
  const start = text.lastIndexOf('\n', text.length - 2) + 1;
  return text.endsWith('\r\n') && text[start + 3] !== '-';
};

const wakeMs = 2;

const run = async (order: LoadOrder): Promise<LoadResult> => {
  const supply = createSupply(order);
  const waiting: Run['waiting'] = [];
  let acceptedCount = 0;
  let failure: string | undefined;
  const one: Run = {
    order,
    supply,
    steps: mailSteps(order),
    waiting,
    accepted: () => {
      acceptedCount += 1;
    },
    failed: why => {
      failure ??= why;
      supply.end();
    },
  };
  const client = async () => {
    while (!supply.isEmpty()) await session(one);
  };

  const timer = setInterval(() => {
    for (const wake of waiting.splice(0)) wake();
  }, wakeMs);
  await Promise.all(Array.from({length: Math.min(order.clients, order.count)}, client));
  clearInterval(timer);
  return {seconds: supply.secondsGone(), accepted: acceptedCount, ...(failure !== undefined && {failure})};
};

process.on('message', (order: LoadOrder) => void run(order).then(result => process.send?.(result)));
