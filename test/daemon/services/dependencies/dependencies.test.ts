import {setImmediate as turn} from 'node:timers/promises';
import test from 'ava';
import {heartbeatSchema} from '../../../../daemon/services/cluster/peer-protocol.ts';
import {createDependencies, type Dependency} from '../../../../daemon/services/dependencies/dependencies.ts';

const start = Date.parse('2026-06-01T12:00:00.000Z');

const arrange = (fields: Partial<Dependency> = {}) => {
  let ms = 0;
  let answer: string | undefined;
  let checks = 0;
  const dependency: Dependency = {
    ...{part: 'scanner', name: '', refusesMail: true, quietMs: 10_000, retryMs: 2000},
    async check() {
      checks += 1;
      return answer;
    },
    ...fields,
  };
  let watched: readonly Dependency[] = [dependency];
  const dependencies = createDependencies({now: () => start + ms, monotonic: () => ms});
  dependencies.watch(() => watched);
  dependencies.check();
  return {
    dependencies,
    async fail(detail = 'dead') {
      dependencies.failed('scanner', {detail});
      await turn();
    },
    answers(detail: string | undefined) {
      answer = detail;
    },
    /** Time passes, and what is due is checked. */
    async pass(seconds: number) {
      ms += seconds * 1000;
      dependencies.check();
      await turn();
    },
    checks: () => checks,
    watch(all: readonly Dependency[]) {
      watched = all;
    },
    details: () => dependencies.problems().map(({detail}) => detail),
  };
};

test('a failed use is checked at once, and is a problem since that use when the check fails too', async t => {
  const {dependencies, fail, answers, pass, details} = arrange();
  await pass(3);
  answers('connection refused');
  await fail('no answer to a mail');

  t.deepEqual(dependencies.problems(), [
    {part: 'scanner', name: '', domains: [], since: '2026-06-01T12:00:03.000Z', detail: 'connection refused', refuses_mail: true},
  ]);
  answers(undefined);
  await pass(2);
  t.deepEqual(details(), []);
});

test('few failed uses are no problem while the check works, and ten in a row are', async t => {
  const {dependencies, fail, details} = arrange();
  await fail();
  dependencies.worked('scanner');
  for (let n = 0; n < 9; n += 1) await fail();

  t.deepEqual(details(), []);
  await fail('dead again');
  t.deepEqual(details(), ['dead again']);
});

test('a server that greets and answers nothing else stays a problem until a use works, or none has failed for a minute', async t => {
  const {dependencies, fail, pass, details} = arrange();
  for (let n = 0; n < 10; n += 1) await fail();
  await pass(20);

  t.deepEqual(details(), ['dead']);
  dependencies.worked('scanner');
  t.deepEqual(details(), []);
  for (let n = 0; n < 10; n += 1) await fail();
  await pass(61);
  t.deepEqual(details(), []);
});

test('what is in use is not checked, and what nothing has used for a while is', async t => {
  const {dependencies, answers, pass, checks, details} = arrange();
  answers('connection refused');
  for (let n = 0; n < 5; n += 1) {
    await pass(6);
    dependencies.worked('scanner');
  }

  t.is(checks(), 0);
  await pass(10);
  t.is(checks(), 1);
  t.deepEqual(details(), ['connection refused']);
});

test('a backend that no domain has any more is no problem any more', async t => {
  const {dependencies, watch, pass, details} = arrange();
  dependencies.failed('scanner', {detail: 'dead', isCertain: true});
  t.deepEqual(details(), ['dead']);
  watch([]);
  await pass(1);

  t.deepEqual(details(), []);
});

test('problems of any number of backends with any number of domains fit into a heartbeat', t => {
  const {dependencies, watch} = arrange();
  const domains = Array.from({length: 200}, (_, n) => `domain${n}.test`);
  const backends = Array.from({length: 300}, (_, n): Dependency => {
    const name = `mx${n}.test:25`;
    return {part: 'backend', name, domains, quietMs: 1e9, retryMs: 1e9, check: async () => undefined};
  });
  watch(backends);
  const text = `550 \u0000\u001b]0;owned\u0007\r\n${'long '.repeat(1000)}`;
  for (const {name} of backends) dependencies.failed('backend', {name, detail: text, isCertain: true});
  const problems = dependencies.problems();

  t.true(heartbeatSchema.shape.problems.safeParse(problems).success);
  t.is(problems[0]?.domains.length, 10);
  t.false(/\p{C}/u.test(problems[0]?.detail ?? ''));
});

test('a problem that begins, and its end, are told once, and change the version', async t => {
  const told: string[] = [];
  let ms = 0;
  const dependencies = createDependencies({
    ...{now: () => start, monotonic: () => ms},
    onProblem: ({detail}) => told.push(detail),
    onEnd: ({part}) => told.push(`${part} works`),
  });
  dependencies.watch(() => [{part: 'postfix', name: '', quietMs: 1000, retryMs: 1000, check: async () => undefined}]);
  const versions = [dependencies.version()];
  for (const detail of ['a', 'b']) dependencies.failed('postfix', {detail, isCertain: true});
  versions.push(dependencies.version());
  ms += 2000;
  dependencies.worked('postfix');
  versions.push(dependencies.version());

  t.deepEqual(told, ['a', 'postfix works']);
  t.is(new Set(versions).size, 3);
});

test('the first check of all includes what is to be known at the start, and is not repeated for what is named later', async t => {
  const checked: string[] = [];
  const named = (name: string, fields: Partial<Dependency> = {}) => ({
    ...backend(name, async () => {
      checked.push(name);
      return 'connection refused';
    }),
    ...fields,
  });
  const dependencies = createDependencies({now: () => start, monotonic: () => 5000});
  const watched = [named('early', {isCheckedFirst: true}), named('used', {isCheckedFirst: true}), named('patient')];
  dependencies.watch(() => watched);
  dependencies.worked('backend', 'used');

  dependencies.check();
  await turn();
  watched.push(named('late', {isCheckedFirst: true}));
  dependencies.check();
  await turn();

  t.deepEqual(checked, ['early']);
  t.deepEqual(
    dependencies.problems().map(({name}) => name),
    ['early'],
  );
});

test('what is asked for before the first check, as by a heartbeat, does not make that check leave anything out', async t => {
  const dependencies = createDependencies({now: () => start, monotonic: () => 5000});
  dependencies.watch(() => [{...backend('early', async () => 'connection refused'), isCheckedFirst: true}]);

  t.deepEqual(dependencies.problems(), []);
  dependencies.check();
  await turn();

  t.deepEqual(
    dependencies.problems().map(({name}) => name),
    ['early'],
  );
});

test('more backends than are checked at once all have their turn at the start', async t => {
  const checked = new Set<string>();
  const all = Array.from(
    {length: 40},
    (_, n): Dependency => ({
      ...backend(`mx${n}.test:25`, async () => void checked.add(`mx${n}`)),
      isCheckedFirst: true,
    }),
  );
  const dependencies = createDependencies({now: () => start, monotonic: () => 5000});
  dependencies.watch(() => all);

  for (let n = 0; n < 3; n += 1) {
    dependencies.check();
    await turn();
  }

  t.is(checked.size, 40);
});

const backend = (name: string, check: Dependency['check'] = async () => undefined): Dependency => ({
  ...{part: 'backend', name, quietMs: 60_000, retryMs: 10_000},
  check,
});

test('backends that are slow to answer keep neither the scanner nor the other backends from being checked', async t => {
  const {watch, pass, details} = arrange();
  const slow = Array.from({length: 40}, (_, n) => backend(`slow${n}.test:25`, () => new Promise(() => {})));
  const scanner: Dependency = {...{part: 'scanner', name: '', quietMs: 10_000, retryMs: 2000}, check: async () => 'dead'};
  watch(slow);
  await pass(0);
  await pass(61);
  watch([...slow, scanner]);
  await pass(1);
  await pass(11);

  t.deepEqual(details(), ['dead']);
});

test('of many backends that nothing uses each is checked, however many there are', async t => {
  const {watch, pass} = arrange();
  const checked = new Set<string>();
  watch(
    Array.from({length: 1200}, (_, n) =>
      backend(`mx${n}.test:25`, async () => {
        checked.add(`mx${n}.test:25`);
        return undefined;
      }),
    ),
  );
  for (let second = 0; second < 200; second += 1) await pass(1);

  t.is(checked.size, 1200);
});

test('a hundred dead backends do not hide a scanner that died after them', async t => {
  const {dependencies, watch, pass} = arrange();
  const scanner: Dependency = {
    ...{part: 'scanner', name: '', refusesMail: true, quietMs: 1e9, retryMs: 1e9},
    check: async () => undefined,
  };
  const backends = Array.from({length: 150}, (_, n) => backend(`mx${n}.test:25`));
  watch([...backends, scanner]);
  for (const {name} of backends) dependencies.failed('backend', {name, detail: 'refused', isCertain: true});
  await pass(1);
  dependencies.failed('scanner', {detail: 'dead', isCertain: true});

  t.is(dependencies.problems()[0]?.part, 'scanner');
  t.is(dependencies.problems().length, 100);
});

test('a server that no domain has as its backend changes no version', async t => {
  const {dependencies} = arrange();
  const before = dependencies.version();
  dependencies.failed('backend', {name: 'smarthost.test:25', detail: 'refused', isCertain: true});

  t.is(dependencies.version(), before);
});
