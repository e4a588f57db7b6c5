import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createConfiguration} from '../../../../daemon/replication/configuration.ts';
import type {
  Digest,
  DigestMail,
  DigestResult,
  DigestSource,
  RoundReport,
} from '../../../../daemon/services/recipients/digest-model.ts';
import {createDigestSender} from '../../../../daemon/services/recipients/digest-sender.ts';
import {createDigestSource} from '../../../../daemon/services/recipients/digest-source.ts';
import {hashOfToken} from '../../../../daemon/services/recipients/link-token.ts';
import {openSqliteStore} from '../../../../daemon/store/sqlite/store.ts';
import {digestDefaults} from '../../../../shared/digest-rules.ts';
import {Fault} from '../../../../shared/fault.ts';
import {domainDefaults} from '../../../../shared/field-rules.ts';
import {testFolder} from '../../../helpers/store.ts';
import {releasedFor, storedMail} from '../../../helpers/stored-mail.ts';

const start = Date.parse('2026-03-10T06:00:00.000Z');
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const domain = {...domainDefaults, id: 1, name: 'one.test', created_at: '', updated_at: '', backend_servers: ['127.0.0.1:25']};
const names = ['alpha', 'beta', 'gamma'];

const {enabled: _, ...defaults} = digestDefaults;
type Settings = Partial<Omit<typeof defaults, 'except'>> & {except?: string[]};

/** Nodes with a store each. A digest is due daily at 07:00 UTC; it is 06:00. */
const startNodes = async (t: ExecutionContext, settings: Settings = {}) => {
  const clock = {now: start};
  const now = () => clock.now;
  const folder = await testFolder(t);
  const sent: (Digest & {by: string})[] = [];
  const reports: RoundReport[] = [];
  const answers = new Map<string, DigestResult>();
  const away = new Set<string>();
  /** Questions, as NODE METHOD, whose answer is lost the next time. */
  const lost = new Set<string>();
  const errors: unknown[] = [];
  let serial = 0;
  /** The number of the step of any sender at which its process ends. */
  let endsAt = Number.POSITIVE_INFINITY;
  let steps = 0;
  const underWay: Promise<unknown>[] = [];
  const step = () => {
    steps += 1;
    if (steps === endsAt) throw new Error('killed');
  };

  const nodes = await Promise.all(
    names.map(async (nodeId, n) => {
      const store = await openSqliteStore(join(folder, nodeId));
      t.teardown(store.close);
      const configuration = createConfiguration({store, nodeNo: n + 1, now});
      await configuration.change(async tx => {
        const {id, updated_at: _, ...fields} = domain;
        await tx.create('domain', id, {...fields, created_at: tx.at});
        await tx.create('digest', id, {
          ...{...defaults, actions: {...defaults.actions}, except: [], ...settings},
          ...{domain_id: id, enabled_at: new Date(start - dayMs).toISOString(), created_at: tx.at},
        });
      });
      const source = createDigestSource({
        nodeId,
        nodeNo: n + 1,
        store,
        domains: {findById: id => (id === 1 ? domain : undefined)},
        from: () => undefined,
        now,
      });
      return {nodeId, store, configuration, source};
    }),
  );
  const asked = (source: DigestSource): DigestSource => {
    const through = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      if (away.has(source.nodeId)) throw new Fault('node_unreachable', `node ${source.nodeId} is away`);
      step();
      const working = work();
      underWay.push(working);
      const result = await working;
      step();
      if (lost.delete(`${source.nodeId} ${name}`)) throw new Fault('outcome_unknown', `node ${source.nodeId} did not answer`);
      return result;
    };
    return {
      nodeId: source.nodeId,
      open: async (...args) => through('open', async () => source.open(...args)),
      keep: async (...args) => through('keep', async () => source.keep(...args)),
      waiting: async (...args) => through('waiting', async () => source.waiting(...args)),
      digests: async (...args) => through('digests', async () => source.digests(...args)),
      preview: async (...args) => through('preview', async () => source.preview(...args)),
      settle: async (...args) => through('settle', async () => source.settle(...args)),
      resentAmong: async (...args) => through('resentAmong', async () => source.resentAmong(...args)),
      close: async (...args) => through('close', async () => source.close(...args)),
    };
  };
  /** A new process of the node. `send` is over when all of it was tried. */
  const senderOf = (
    n: number,
    {isChosen = true, onMail = async () => {}}: {isChosen?: boolean; onMail?(): Promise<void>} = {},
  ) => {
    const sender = createDigestSender({
      nodeId: names[n] ?? '',
      store: nodes[n]?.store as NonNullable<(typeof nodes)[0]>['store'],
      domains: {findById: id => (id === 1 ? domain : undefined)},
      sources: async () => nodes.map(({source}) => asked(source)),
      isChosen: () => isChosen,
      transport: {
        async send(_domain, _settings, digest) {
          step();
          await onMail();
          const answer = answers.get(digest.mailbox) ?? {state: 'sent', detail: '250 ok'};
          if (answer.state === 'sent' || answer.state === 'unknown') sent.push({...digest, by: names[n] ?? ''});
          step();
          return answer;
        },
      },
      now,
      onResult: () => {},
      onReport: (_domain, report) => void reports.push(report),
      onError: error => void errors.push(error),
    });
    return {
      ...sender,
      begin: sender.send,
      async send() {
        await sender.send();
        await sender.idle();
      },
    };
  };
  return {
    clock,
    nodes,
    sent,
    reports,
    answers,
    away,
    lost,
    errors,
    senderOf,
    endAt: (n: number) => {
      endsAt = steps + n;
    },
    /** What a process had begun when it ended. */
    idle: async () => void (await Promise.allSettled(underWay)),
    hold: async (n: number, recipients: string[], fields: Partial<Parameters<typeof storedMail>[0]> = {}) => {
      serial += 1;
      const queue_id = `mail${String(serial).padStart(6, '0')}`;
      const arrived_at = new Date(clock.now).toISOString();
      const mail = storedMail({queue_id, arrived_at, subject: `number ${serial}`, score: 7, recipients, ...fields});
      await nodes[n]?.store.transaction(async tx => tx.hold.insert([mail]));
      return queue_id;
    },
  };
};

/** The node says something else than it knows. */
const lieOf = (source: DigestSource | undefined, lie: (mails: DigestMail[]) => DigestMail[]): DigestSource => {
  if (!source) throw new Error('there is no such node');
  const {digests} = source;
  source.digests = async (...args) => lie(await digests(...args));
  return source;
};

const greylisted: DigestResult = {state: 'waiting', detail: '450 greylisted', hasServer: true};
const ofUnknownEnd: DigestResult = {state: 'unknown', detail: '451 4.4.2 lost'};

/** The sender of node alpha has sent a digest, and nobody knows whether it was delivered. */
const startWithUnknown = async (t: ExecutionContext) => {
  const nodes = await startNodes(t);
  await nodes.hold(0, ['ann@one.test']);
  nodes.answers.set('ann@one.test', ofUnknownEnd);
  nodes.clock.now += hourMs;
  const sender = nodes.senderOf(0);
  await sender.send();
  return {...nodes, sender};
};

/** Mailboxes that a node makes up, each time others. */
const endlessNames = (domainName: string) => {
  let count = 0;
  return {
    count: () => count,
    waiting: async () =>
      Array.from({length: 100}, () => {
        count += 1;
        return `a${String(count).padStart(9, '0')}@${domainName}`;
      }),
  };
};

/** The store of the node does not answer from now on. */
const breakStore = (node: {source: DigestSource} | undefined): void => {
  if (!node) throw new Error('there is no such node');
  Object.defineProperty(node, 'source', {
    get() {
      throw new Error('the store does not answer');
    },
  });
};

const listed = (sent: readonly Digest[]) =>
  sent
    .map(
      ({mailbox, mails}) =>
        `${mailbox}: ${mails
          .map(({subject}) => subject.slice(7))
          .toSorted()
          .join(' ')}`,
    )
    .toSorted();

test('a recipient gets one digest about the mail of all nodes, once', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test', 'ben@one.test']);
  await hold(1, ['ann@one.test']);
  await hold(2, ['ANN+news@one.test', 'cat@two.test']);
  const [one, two] = [senderOf(0), senderOf(1)];
  await one.send();
  t.deepEqual(sent, [], 'not before it is due');
  clock.now += hourMs;

  await one.send();
  await two.send();
  await senderOf(2).send();
  await one.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1 2 3', 'ben@one.test: 1']);
  const tokens = sent.flatMap(({mails}) => mails.map(({token}) => token));
  t.is(new Set(tokens).size, 4);
  t.deepEqual(
    tokens.map(token => token.slice(0, 2)).toSorted(),
    ['1-', '1-', '2-', '3-'],
    'each link names the node of its mail',
  );
});

test('the next digest has what was held since, and whoever has nothing new gets none', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test', 'ben@one.test']);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  await hold(1, ['ben@one.test']);
  clock.now += dayMs;

  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ben@one.test: 1', 'ben@one.test: 2']);
  t.is(new Set(sent.map(({id}) => id)).size, 3);
});

test('mail is listed by what its reason allows, and not for exceptions or after it was released', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t, {except: ['info@one.test']});
  await hold(0, ['ann@one.test'], {reason: 'sandbox'});
  await hold(0, ['ann@one.test', 'info@one.test'], {reason: 'phishing'});
  const released = await hold(0, ['ann@one.test', 'ben@one.test']);
  await nodes[0]?.store.transaction(async tx => tx.hold.strikeRecipients(released, releasedFor('ben@one.test')));
  clock.now += hourMs;

  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 2 3']);
});

test('a node that is away has its mail in the next digest', async t => {
  const {clock, sent, away, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(1, ['ann@one.test']);
  clock.now += hourMs;
  away.add('beta');
  await senderOf(0).send();
  away.clear();
  clock.now += hourMs;
  await senderOf(1).send();
  t.deepEqual(listed(sent), ['ann@one.test: 1'], 'not a second one for the same day');

  clock.now += dayMs;
  await senderOf(1).send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 2']);
});

test('both halves of a cluster that is cut in two send about their own mail', async t => {
  const {clock, sent, away, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(2, ['ann@one.test']);
  clock.now += hourMs;
  away.add('gamma');
  await senderOf(0).send();
  away.clear();
  away.add('alpha').add('beta');
  await senderOf(2).send();
  away.clear();
  clock.now += hourMs;
  for (const n of [0, 1, 2]) await senderOf(n).send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 2']);
});

test('whoever is not chosen sends nothing, and two who take themselves for chosen send one', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 150; n += 1) await hold(n % 3, [`r${n % 50}@one.test`]);
  clock.now += hourMs;
  await senderOf(0, {isChosen: false}).send();
  t.deepEqual(sent, []);

  await Promise.all([0, 1, 2].map(async n => senderOf(n).send()));

  t.is(sent.length, 50);
  t.is(new Set(sent.map(({mailbox}) => mailbox)).size, 50);
  t.is(new Set(sent.map(({by}) => by)).size, 1);
});

test('more than a page of mailboxes is sent, and at most a hundred mails are in one digest', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 250; n += 1) await hold(n % 3, [`r${n}@one.test`]);
  for (let n = 0; n < 130; n += 1) await hold(0, ['busy@one.test']);
  clock.now += hourMs;

  await senderOf(1).send();

  t.is(sent.length, 251);
  t.is(new Set(sent.map(({mailbox}) => mailbox)).size, 251);
  t.like(
    sent.find(({mailbox}) => mailbox === 'busy@one.test'),
    {others: 30},
  );
  t.is(sent.find(({mailbox}) => mailbox === 'busy@one.test')?.mails.length, 100);
  clock.now += dayMs;
  await senderOf(1).send();
  t.is(sent.length, 252);
  t.is(sent.at(-1)?.mails.length, 30, 'the others come the next day');
});

test('killed at any step, each mail is in a digest, and what it is in twice has the same id', async t => {
  const killAt = async (n: number): Promise<boolean> => {
    const {clock, sent, errors, hold, senderOf, endAt, idle} = await startNodes(t);
    await hold(0, ['ann@one.test', 'ben@one.test']);
    await hold(1, ['ann@one.test']);
    clock.now += hourMs;
    endAt(n);
    await senderOf(0).send();
    const isKilled = errors.length > 0;
    endAt(Number.POSITIVE_INFINITY);
    await idle();
    // Another node takes over, at once and when the one before is silent for long enough.
    await senderOf(1).send();
    clock.now += 2 * minuteMs;
    await senderOf(1).send();
    await senderOf(2).send();
    t.is(errors.length, isKilled ? 1 : 0);

    const idsOf = (mailbox: string, subject: string) =>
      sent.flatMap(digest =>
        digest.mailbox === mailbox && digest.mails.some(mail => mail.subject === subject) ? [digest.id] : [],
      );
    for (const [mailbox, subject] of [
      ['ann@one.test', 'number 1'],
      ['ann@one.test', 'number 2'],
      ['ben@one.test', 'number 1'],
    ] as const) {
      const ids = idsOf(mailbox, subject);
      t.true(ids.length >= 1 && ids.length <= (isKilled ? 2 : 1), `step ${n}: ${ids.length} of ${mailbox} ${subject}`);
      t.is(new Set(ids).size, 1, `step ${n}: ${mailbox} ${subject}`);
    }
    return isKilled;
  };

  let n = 1;
  while (await killAt(n)) n += 1;
  t.true(n > 20, `${n} steps`);
});

test('what a node did not give out, or was not told of, is in a digest, and once', async t => {
  for (const name of ['alpha', 'beta'])
    for (const method of ['open', 'waiting', 'digests', 'settle', 'close']) {
      const {clock, sent, errors, lost, hold, senderOf} = await startNodes(t);
      await hold(0, ['ann@one.test', 'ben@one.test']);
      await hold(1, ['ann@one.test', 'cat@one.test']);
      clock.now += hourMs;
      lost.add(`${name} ${method}`);
      const sender = senderOf(0);
      await sender.send();
      clock.now += 5 * minuteMs;
      await sender.send();
      t.true(
        sent.some(({mailbox}) => mailbox === 'cat@one.test'),
        `${name} ${method}: who has no digest yet does not wait for the next day`,
      );
      clock.now += dayMs;
      await sender.send();

      t.true(sent.filter(({mailbox}) => mailbox === 'ann@one.test').length <= 2, `${name} ${method}: one a day`);
      const listedIn = sent.flatMap(({mailbox, mails}) => mails.map(({subject}) => `${mailbox} ${subject}`));
      t.deepEqual(
        listedIn.toSorted(),
        ['ann@one.test number 1', 'ann@one.test number 2', 'ben@one.test number 1', 'cat@one.test number 2'],
        `${name} ${method}`,
      );
      t.deepEqual(errors, []);
      t.is(new Set(sent.map(({id}) => id)).size, sent.length);
    }
});

test('whoever could not be told of a mail for several recipients is told of it the next day', async t => {
  const {clock, sent, answers, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test', 'ben@one.test']);
  answers.set('ben@one.test', {state: 'waiting', detail: '452 4.2.2 mailbox full', hasServer: true});
  clock.now += hourMs;
  const sender = senderOf(0);
  for (let hours = 0; hours < 23; hours += 1) {
    await sender.send();
    clock.now += hourMs;
  }
  t.deepEqual(listed(sent), ['ann@one.test: 1']);
  answers.clear();
  clock.now += hourMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ben@one.test: 1']);
});

test('a mail whose delivery nobody knows the end of comes again, with the same id', async t => {
  const {clock, nodes, sent, answers, hold, sender} = await startWithUnknown(t);
  answers.clear();
  answers.set('ann@one.test', greylisted);
  clock.now += 5 * minuteMs;
  await sender.send();
  answers.clear();
  await hold(1, ['ann@one.test']);
  clock.now += 15 * minuteMs;
  await sender.send();
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 1', 'ann@one.test: 2']);
  t.is(new Set(sent.slice(0, 2).map(({id}) => id)).size, 1);
  t.not(sent[2]?.id, sent[0]?.id);
  const [first] = sent[0]?.mails ?? [];
  t.truthy(await nodes[0]?.store.digests.link(hashOfToken(first?.token ?? '')), 'the links of the first copy stay');
});

test('what was sent again without the mail of a node is no digest for that mail', async t => {
  const {clock, sent, answers, away, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(1, ['ann@one.test']);
  answers.set('ann@one.test', ofUnknownEnd);
  clock.now += hourMs;
  const sender = senderOf(1);
  await sender.send();
  answers.clear();
  away.add('alpha');
  clock.now += 5 * minuteMs;
  await sender.send();
  away.clear();
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(
    sent.map(({mails}) => mails.map(({subject}) => subject.slice(7)).toSorted()),
    [['1', '2'], ['2'], ['1']],
  );
  t.is(sent[0]?.id, sent[1]?.id);
  t.not(sent[2]?.id, sent[0]?.id, 'it would look like a copy');
});

test('digests of a domain are sent by one at a time, also when they are sent now', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 60; n += 1) await hold(n % 3, [`r${n}@one.test`]);
  clock.now += hourMs;
  let goOn = () => {};
  const held = new Promise<void>(resolve => {
    goOn = resolve;
  });
  const sender = senderOf(0, {onMail: async () => held});
  await sender.begin();
  await t.throwsAsync(sender.sendNow(domain), {message: /being sent now/});
  await new Promise(resolve => setTimeout(resolve, 50));
  await t.throwsAsync(senderOf(1).sendNow(domain), {message: /being sent now/});
  goOn();
  await sender.idle();

  t.is(sent.length, 60);
  t.is(new Set(sent.map(({mailbox}) => mailbox)).size, 60);
});

test('a node that stops ends with the mails under way, and another one sends the rest', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 120; n += 1) await hold(n % 3, [`r${n}@one.test`]);
  clock.now += hourMs;
  const sender = senderOf(0, {onMail: async () => new Promise(resolve => setTimeout(resolve, 20))});
  await sender.begin();
  while (sent.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
  await sender.stop(new AbortController().signal);
  t.true(sent.length > 0 && sent.length < 60, `${sent.length}`);
  clock.now += 2 * minuteMs;
  await senderOf(1).send();

  t.is(sent.length, 120);
  t.is(new Set(sent.map(({mailbox}) => mailbox)).size, 120);
});

test('settings that change after mail was listed count', async t => {
  const {clock, nodes, sent, answers, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test'], {reason: 'phishing'});
  await hold(0, ['ann@one.test', 'ben@one.test']);
  for (const name of ['ann', 'ben']) answers.set(`${name}@one.test`, greylisted);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  answers.clear();
  for (const {configuration} of nodes)
    await configuration.change(async tx =>
      tx.update('digest', 1, {except: ['ben@one.test'], actions: {...digestDefaults.actions, phishing: 'none'}}),
    );
  clock.now += 5 * minuteMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 2']);
});

test('a digest that came back, or that somebody made up, is not listed', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test'], {sender: '', from: ['quarantine@one.test']});
  await hold(0, ['ann@one.test'], {sender: 'SRS0=x@forward.test', from: ['quarantine@one.test']});
  await hold(0, ['ann@one.test'], {sender: '', from: ['mailer-daemon@other.test']});
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 3']);
});

test('what a backend refuses is told, and tried again the next day; what it cannot take now, earlier', async t => {
  const {clock, sent, reports, answers, hold, senderOf} = await startNodes(t);
  for (const name of ['ann', 'gone', 'full']) await hold(0, [`${name}@one.test`]);
  answers.set('gone@one.test', {state: 'refused', detail: '550 5.1.1 no such user'});
  answers.set('full@one.test', {state: 'waiting', detail: '452 4.2.2 mailbox full', hasServer: true});
  clock.now += hourMs;
  const sender = senderOf(0);

  await sender.send();
  t.like(reports.at(-1), {sent: 1, refused: 1, isWaiting: true});
  await sender.send();
  t.is(reports.length, 1, 'not at once');
  clock.now += 5 * minuteMs;
  answers.delete('full@one.test');
  await sender.send();

  t.like(reports.at(-1), {sent: 1, refused: 0, isWaiting: false});
  t.deepEqual(listed(sent), ['ann@one.test: 1', 'full@one.test: 3']);
  answers.delete('gone@one.test');
  clock.now += dayMs;
  await sender.send();
  t.deepEqual(listed(sent), ['ann@one.test: 1', 'full@one.test: 3', 'gone@one.test: 2']);
});

test('a copy that is refused has its mail in a copy the next day', async t => {
  const {clock, sent, answers, sender} = await startWithUnknown(t);
  answers.set('ann@one.test', {state: 'refused', detail: '550 5.1.1 no such user'});
  clock.now += 5 * minuteMs;
  await sender.send();
  answers.clear();
  clock.now += hourMs;
  await sender.send();
  t.is(sent.length, 1);
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 1']);
  t.is(sent[0]?.id, sent[1]?.id);
});

test('digests of the day are tried again after some were sent now, by any node', async t => {
  for (const n of [0, 1]) {
    const {clock, sent, answers, hold, senderOf} = await startNodes(t);
    await hold(0, ['ann@one.test']);
    answers.set('ann@one.test', greylisted);
    clock.now += hourMs;
    const sender = senderOf(0);
    await sender.send();
    clock.now += minuteMs;
    t.like(await sender.sendNow(domain), {sent: 0, isWaiting: true});
    answers.clear();
    clock.now += 5 * minuteMs;
    await (n === 0 ? sender : senderOf(n)).send();

    t.deepEqual(listed(sent), ['ann@one.test: 1']);
  }
});

test('who is no exception any more hears of mail that was listed for others', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t, {except: ['ann@one.test']});
  await hold(0, ['ann@one.test', 'ben@one.test']);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  t.deepEqual(listed(sent), ['ben@one.test: 1']);
  for (const {configuration} of nodes) await configuration.change(async tx => tx.update('digest', 1, {except: []}));
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ben@one.test: 1']);
});

test('the mail of an exception is left for later at once, however much it is', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t, {except: ['info@one.test']});
  for (let n = 0; n < 450; n += 1) await hold(0, ['info@one.test']);
  await hold(0, ['ann@one.test']);
  const [{store} = t.fail()] = nodes;
  const {transaction} = store;
  let statements = 0;
  store.transaction = async work =>
    transaction(async tx => {
      const waitingFor: typeof tx.digests.waitingFor = async (...args) => {
        statements += 1;
        return tx.digests.waitingFor(...args);
      };
      return work({...tx, digests: {...tx.digests, waitingFor}});
    });
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 451']);
  t.is(statements, 1, 'each of these is slow while much waits, and intake waits for it');
});

test('when another node took a round and ended, the one before sends what was sent to nobody', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 3; n += 1) await hold(n, [`r${n}@one.test`]);
  clock.now += hourMs;
  const [{source} = t.fail()] = nodes;
  const {digests} = source;
  // The process is stopped for so long that another one takes over, and that one ends at its first mail.
  source.digests = async (...args) => {
    source.digests = digests;
    clock.now += 2 * minuteMs;
    await senderOf(1, {onMail: async () => Promise.reject(new Error('killed'))}).send();
    return digests(...args);
  };
  const sender = senderOf(0);
  await sender.send();
  t.deepEqual(sent, []);
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += 5 * minuteMs;
    await sender.send();
  }

  t.deepEqual(listed(sent), ['r0@one.test: 1', 'r1@one.test: 2', 'r2@one.test: 3']);
});

test('mailboxes behind many that no server answers for get their digests', async t => {
  for (const answer of [ofUnknownEnd, {state: 'waiting', detail: 'no connection', hasServer: false}] as const) {
    const {clock, sent, answers, hold, senderOf} = await startNodes(t);
    for (let n = 10; n < 35; n += 1) {
      await hold(0, [`bad${n}@one.test`]);
      answers.set(`bad${n}@one.test`, answer);
    }
    for (let n = 10; n < 40; n += 1) await hold(0, [`good${n}@one.test`]);
    clock.now += hourMs;
    const sender = senderOf(0);
    for (let tries = 0; tries < 12; tries += 1) {
      await sender.send();
      clock.now += hourMs;
    }

    t.is(new Set(sent.flatMap(({mailbox}) => (mailbox.startsWith('good') ? [mailbox] : []))).size, 30);
  }
});

test('a node that always has its mail in digests that were sent again is left out', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(1, ['ann@one.test']);
  lieOf(nodes[1]?.source, mails => mails.map(mail => ({...mail, digest_id: 'old'})));
  const [{source} = t.fail()] = nodes;
  source.resentAmong = async (_round, ids) => [...ids];
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 1']);
});

test('a node cannot spoil the tries for others, whatever it says was sent again', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(1, ['ann@one.test']);
  const given: string[] = [];
  const source = lieOf(nodes[1]?.source, mails => {
    given.push(...mails.map(({digest_id}) => digest_id));
    return mails.map(mail => ({...mail, digest_id: 'old'}));
  });
  source.resentAmong = async () => ['nothing', ...given];
  clock.now += hourMs;
  await senderOf(0).send();

  t.true(listed(sent).includes('ann@one.test: 1'), `${listed(sent)}`);
});

test('mailboxes behind those that a node makes up get their digests, whatever it gives for them', async t => {
  const address = 'other@one.test';
  const other: DigestMail = {
    ...{address, mailbox: address, action: 'release', token: '2-A', digest_id: 'x', others: 0},
    ...{sender: '', from: [], subject: '', reason: 'spam', arrived_at: new Date(start).toISOString()},
  };
  const answers: [domain: string, digests: DigestSource['digests']][] = [
    ['one.test', async () => []],
    ['one.test', async () => [other]],
    ['two.test', async () => []],
  ];
  for (const [at, digests] of answers) {
    const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
    await hold(0, ['zoe@one.test']);
    const [, {source} = t.fail()] = nodes;
    Object.assign(source, {waiting: endlessNames(at).waiting, digests});
    clock.now += hourMs;
    await senderOf(0).send();

    t.deepEqual(listed(sent), ['zoe@one.test: 1']);
  }
});

test('a node that takes ever more digests for sent again is left out', async t => {
  const {clock, nodes, sent, answers, hold, senderOf} = await startNodes(t);
  const mailboxes = Array.from({length: 20}, (_, n) => `r${n}@one.test`);
  for (const mailbox of mailboxes) {
    await hold(0, [mailbox]);
    answers.set(mailbox, ofUnknownEnd);
  }
  clock.now += hourMs;
  const sender = senderOf(0);
  for (let tries = 0; tries < 10; tries += 1) {
    await sender.send();
    clock.now += hourMs;
  }
  answers.clear();
  const [, {source} = t.fail()] = nodes;
  let asked = 0;
  source.resentAmong = async (_round, ids) => {
    asked += 1;
    return ids.slice(0, 1);
  };
  const before = sent.length;
  await sender.send();

  t.is(asked, 3);
  t.is(new Set(sent.slice(before).map(({mailbox}) => mailbox)).size, 20);
});

test('a node that takes the digests of others for sent again keeps their mail out of no digest', async t => {
  const {clock, nodes, sent, answers, hold, sender} = await startWithUnknown(t);
  const [{id} = t.fail()] = sent;
  answers.clear();
  await hold(1, ['ann@one.test']);
  const source = lieOf(nodes[1]?.source, mails => mails.map(mail => ({...mail, digest_id: 'old'})));
  let asked = 0;
  source.resentAmong = async () => {
    asked += 1;
    return asked < 3 ? ['old'] : [id];
  };
  clock.now += 5 * minuteMs;
  await sender.send();

  t.true(listed(sent.slice(1)).includes('ann@one.test: 1'), `${listed(sent)}`);
});

test('a node that names mailboxes without end does not keep a round for ever', async t => {
  const {clock, nodes, hold, senderOf} = await startNodes(t);
  await hold(0, ['zoe@one.test']);
  const names = endlessNames('one.test');
  for (const {nodeId, source} of nodes) {
    source.digests = async () => [];
    if (nodeId === 'beta') source.waiting = names.waiting;
  }
  clock.now += hourMs;
  await senderOf(0).send();

  t.true(names.count() <= 100_000, `${names.count()}`);
});

test('a node has a hundred mails in a digest at most, whatever it says', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  lieOf(nodes[1]?.source, mails => mails.flatMap(mail => Array.from({length: 150}, () => mail)));
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(
    sent.map(({mails}) => mails.length),
    [100],
  );
});

test('what was sent now and met no server is tried again, and in the end is over', async t => {
  const {clock, sent, answers, reports, hold, senderOf} = await startNodes(t);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  clock.now += hourMs;
  await hold(0, ['ann@one.test']);
  answers.set('ann@one.test', greylisted);
  await sender.sendNow(domain);
  answers.clear();
  await sender.send();
  t.deepEqual(sent, [], 'not at once');
  clock.now += 5 * minuteMs;
  await sender.send();
  t.deepEqual(listed(sent), ['ann@one.test: 1']);
  const tried = reports.length;
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += hourMs;
    await sender.send();
  }

  t.true(reports.length <= tried + 1, 'the round of the day is over');
});

test('what was sent now is tried again by the node that was asked, also where another one sends daily', async t => {
  const {clock, sent, answers, hold, senderOf} = await startNodes(t);
  clock.now += hourMs;
  await senderOf(1).send();
  const sender = senderOf(0, {isChosen: false});
  clock.now += minuteMs;
  await hold(0, ['ann@one.test']);
  answers.set('ann@one.test', greylisted);
  await sender.sendNow(domain);
  answers.clear();
  clock.now += 5 * minuteMs;
  await sender.send();
  t.deepEqual(listed(sent), ['ann@one.test: 1']);

  clock.now += dayMs;
  await hold(0, ['ann@one.test']);
  await sender.send();
  t.is(sent.length, 1, 'the daily one is for the other');
});

test('digests that were refused when they were sent now are a problem until the next are sent', async t => {
  const {clock, answers, reports, hold, senderOf} = await startNodes(t);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  clock.now += minuteMs;
  await hold(0, ['ann@one.test']);
  answers.set('ann@one.test', {state: 'refused', detail: '550 no'});
  await sender.sendNow(domain);
  clock.now += minuteMs;
  await sender.send();

  t.like(reports.at(-1), {refused: 1, refusal: '550 no'});
});

test('what another node may have delivered meanwhile is no longer told as not delivered', async t => {
  const {clock, sent, answers, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  answers.set('ann@one.test', greylisted);
  clock.now += hourMs;
  let isFirst = true;
  // The process is stopped for so long that another one takes over, delivers and ends.
  const onMail = async () => {
    if (!isFirst) return;
    isFirst = false;
    clock.now += 2 * minuteMs;
    answers.set('ann@one.test', ofUnknownEnd);
    await senderOf(1).send();
    answers.set('ann@one.test', greylisted);
  };
  const sender = senderOf(0, {onMail});
  await sender.send();
  answers.clear();
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += hourMs;
    await sender.send();
  }

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 1']);
  t.is(sent[0]?.id, sent[1]?.id);
});

test('what was not delivered is not told late, when another node may have delivered it', async t => {
  const {clock, sent, answers, away, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  answers.set('ann@one.test', greylisted);
  clock.now += hourMs;
  const sender = senderOf(0, {onMail: async () => void away.add('beta')});
  await sender.send();
  away.clear();
  clock.now += 2 * minuteMs;
  answers.set('ann@one.test', ofUnknownEnd);
  await senderOf(1).send();
  answers.clear();
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += hourMs;
    await senderOf(1).send();
    away.clear();
    await sender.send();
  }

  t.is(sent.length, 2);
  t.is(new Set(sent.map(({id}) => id)).size, 1);
});

test('a node that cannot be told of a delivery gives its mail out once it was told', async t => {
  const {clock, sent, away, lost, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  clock.now += hourMs;
  const sender = senderOf(0, {onMail: async () => void away.add('beta')});
  await sender.send();
  away.clear();
  lost.add('beta keep');
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += dayMs;
    await sender.send();
  }

  t.deepEqual(listed(sent), ['ann@one.test: 1']);
});

test('a node that did not hear that ids are given up gives no mail out under them', async t => {
  const {clock, nodes, sent, lost, hold, senderOf} = await startNodes(t);
  for (const n of [0, 1, 2]) await hold(n, ['ann@one.test']);
  const [, {source} = t.fail()] = nodes;
  const {settle} = source;
  source.settle = async () => {
    source.settle = settle;
    throw new Fault('node_unreachable', 'node beta is away');
  };
  lost.add('gamma digests');
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  t.deepEqual(listed(sent), ['ann@one.test: 1']);
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 2 3']);
});

test('after a clock that was ahead digests are sent daily', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  const sender = senderOf(0);
  clock.now += 30 * dayMs;
  await sender.send();
  clock.now -= 29 * dayMs;
  await hold(0, ['ann@one.test']);
  clock.now += dayMs;
  await sender.send();

  t.deepEqual(listed(sent), ['ann@one.test: 1']);
});

test('a node that stops tells another one that is just starting again what became of its mail', async t => {
  const {clock, sent, away, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  clock.now += hourMs;
  const sender = senderOf(0, {onMail: async () => void away.add('beta')});
  await sender.send();
  const stopped = sender.stop(new AbortController().signal);
  await new Promise(resolve => setTimeout(resolve, 300));
  away.clear();
  await stopped;
  for (let tries = 0; tries < 3; tries += 1) {
    clock.now += dayMs;
    await senderOf(1).send();
  }

  t.deepEqual(listed(sent), ['ann@one.test: 1']);
});

test('a node that stops waits for one that is away, that hangs, or for its store only until the signal', async t => {
  for (const failure of ['away', 'hangs', 'store']) {
    const {clock, nodes, away, hold, senderOf} = await startNodes(t);
    await hold(1, ['ann@one.test']);
    clock.now += hourMs;
    const sender = senderOf(0, {onMail: async () => void away.add('beta')});
    await sender.send();
    const [, beta = t.fail()] = nodes;
    if (failure !== 'away') away.clear();
    if (failure === 'hangs') beta.source.keep = async () => new Promise(() => {});
    if (failure === 'store') breakStore(beta);
    const end = new AbortController();
    let isStopped = false;
    const stopped = sender.stop(end.signal).then(() => {
      isStopped = true;
    });
    await new Promise(resolve => setTimeout(resolve, 300));
    t.false(isStopped, failure);
    end.abort();

    await t.notThrowsAsync(stopped, failure);
  }
});

test('a node that stops asks nobody when there is nothing to tell', async t => {
  const {clock, nodes, hold, senderOf} = await startNodes(t);
  await hold(1, ['ann@one.test']);
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  breakStore(nodes[0]);

  await t.notThrowsAsync(sender.stop(new AbortController().signal));
});

test('the digest goes to the mailbox that was asked for, whatever a node says', async t => {
  const {clock, nodes, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  await hold(1, ['ann@one.test']);
  lieOf(nodes[1]?.source, mails => mails.map(mail => ({...mail, address: 'eve@one.test'})));
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 1']);
});

test('with no backend that answers nobody else is tried, and all is in the next digest at the latest', async t => {
  const {clock, sent, reports, answers, hold, senderOf} = await startNodes(t);
  for (let n = 0; n < 300; n += 1) await hold(0, [`r${n}@one.test`]);
  for (let n = 0; n < 300; n += 1) answers.set(`r${n}@one.test`, {state: 'waiting', detail: 'no connection', hasServer: false});
  clock.now += hourMs;
  const sender = senderOf(0);
  await sender.send();
  t.like(reports, [{sent: 0, isWaiting: true, failure: 'no connection'}]);
  answers.clear();
  clock.now += dayMs;

  await sender.send();

  t.is(sent.length, 300);
});

test('sent now, a digest has what was in none yet, and the daily one has the rest', async t => {
  const {clock, sent, hold, senderOf} = await startNodes(t);
  await hold(0, ['ann@one.test']);
  const sender = senderOf(1);
  const {digest} = await sender.preview(domain, 'ann@one.test');
  t.deepEqual(listed([digest]), ['ann@one.test: 1']);

  t.like(await sender.sendNow(domain), {sent: 1, refused: 0, isWaiting: false});
  clock.now += minuteMs;
  await hold(2, ['ann@one.test']);
  clock.now += hourMs;
  await senderOf(0).send();

  t.deepEqual(listed(sent), ['ann@one.test: 1', 'ann@one.test: 2']);
  t.is((await sender.preview(domain, 'ann@one.test')).digest.mails.length, 0);
});
