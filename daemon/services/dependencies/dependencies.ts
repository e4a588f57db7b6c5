// Health of what a node depends on: scanner, backends, store, name servers, Postfix and its log, and password files. Real use says whether
// they work; what nothing has used for a while is checked, and some of it once at the start.
//
// works → a failed check, or ten failed uses in a row → problem; a use or a check that works → works.
// A server may greet, and answer nothing else: where uses fail although checks work, only a use ends the problem, or a minute without one.

import {type DependencyPart, maxProblemDomains, maxProblems, type Problem} from '../../../shared/cluster-status.ts';
import {ascending} from '../../../shared/collections.ts';
import {createSemaphore} from '../semaphore.ts';

export interface Dependency {
  part: DependencyPart;
  /** The address of a backend or of the smarthost, the key of a password file, the id of a webhook; empty for what a node has one of. */
  name: string;
  /** The domains with that backend. */
  domains?: readonly string[];
  /** Whether the node takes no mail without it. */
  refusesMail?: boolean;
  /** A dependency that nothing has used for this long is checked. One with a problem is checked after `retryMs`. */
  quietMs: number;
  retryMs: number;
  /** The first of all checks includes it. */
  isCheckedFirst?: true;
  /** Resolves with why it does not work, and since when if that is known; with undefined when it works. */
  check(): Promise<string | DatedFailure | undefined>;
}

export interface DatedFailure {
  detail: string;
  /** Milliseconds since 1970. */
  sinceMs: number;
}

export interface Dependencies {
  /** The dependencies that `list` names from now on. It is called often. */
  watch(list: () => readonly Dependency[]): void;
  /** A real use worked. */
  worked(part: DependencyPart, name?: string): void;
  /** A real use failed. One alone may be the fault of the mail, so it is checked; `isCertain`: it counts as it is. */
  failed(part: DependencyPart, failure: {detail: string; name?: string; isCertain?: boolean}): void;
  /** Begins the checks that are due. */
  check(): void;
  /** What does not work at present: what the node takes no mail without, then what it has one of, then backends; the longest first. */
  problems(): Problem[];
  /** Changes with every problem that begins or ends. */
  version(): number;
}

interface Needs {
  now: () => number;
  /** Milliseconds, by a clock that never jumps. */
  monotonic: () => number;
  /** Called when a problem begins, and when it ends. */
  onProblem?(problem: Problem): void;
  onEnd?(problem: Problem): void;
}

interface State {
  /** When it was last used or checked; at first, when it was first named, or long ago. */
  lastAtMs: number;
  failedUses: number;
  lastFailedUseMs: number;
  /** A check worked between failed uses. */
  isCheckDoubted: boolean;
  isChecking: boolean;
  /** Since the first failure. */
  sinceMs: number;
  detail: string | undefined;
}

/** So many failed uses in a row count although checks work. Fewer may be mail that was made to fail. */
const certainUses = 10;
/** How long failed uses count more than checks that work. */
const usesCountMs = 60_000;
/** Checks of backends under way at once. A silent server takes half a minute, and one that is slow on purpose minutes. */
const maxBackendChecks = 16;
const maxDetailChars = 300;

export const createDependencies = ({now, monotonic, onProblem = () => {}, onEnd = () => {}}: Needs): Dependencies => {
  const lists: (() => readonly Dependency[])[] = [];
  let version = 0;
  const all = (): Dependency[] => lists.flatMap(list => list());
  const find = (key: string): Dependency | undefined => all().find(one => keyOf(one) === key);
  const changed = (key: string, tell: (problem: Problem) => void, state: State): void => {
    const dependency = find(key);
    // Nothing is told of a server that is not watched, such as one that reports go to.
    if (!dependency) return;
    version += 1;
    tell(problemOf(dependency, state));
  };
  const states = createStates({
    now,
    monotonic,
    onBegin: (key, state) => changed(key, onProblem, state),
    onEnd: (key, state) => changed(key, onEnd, state),
  });
  // Backends are of the domains' owners: slow ones must not keep the scanner or the store from being checked.
  const backendChecks = createSemaphore(maxBackendChecks);
  let hasBegun = false;

  const check = async (dependency: Dependency): Promise<void> => {
    const key = keyOf(dependency);
    const state = states.of(key);
    if (state.isChecking) return;
    const leave = dependency.part === 'backend' ? backendChecks.tryAcquire() : () => {};
    if (!leave) return;
    state.isChecking = true;
    const failure = await dependency.check().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    leave();
    state.isChecking = false;
    if (typeof failure === 'object') states.checked(key, failure.detail, failure.sinceMs);
    else states.checked(key, failure);
  };
  const lastAtMs = (dependency: Dependency): number => states.of(keyOf(dependency)).lastAtMs;
  const isDue = (dependency: Dependency): boolean => {
    const {lastAtMs, detail} = states.of(keyOf(dependency));
    return monotonic() - lastAtMs >= (detail === undefined ? dependency.quietMs : dependency.retryMs);
  };

  return {
    watch: list => void lists.push(list),
    worked: (part, name = '') => states.worked(keyOf({part, name})),
    failed(part, {detail, name = '', isCertain = false}) {
      const key = keyOf({part, name});
      if (states.failed(key, {detail, isCertain})) return;
      const dependency = find(key);
      if (dependency) void check(dependency);
    },
    check() {
      const dependencies = all();
      states.retain(new Set(dependencies.map(keyOf)));
      if (!hasBegun) states.addUnused(dependencies.filter(({isCheckedFirst}) => isCheckedFirst).map(keyOf));
      hasBegun = true;
      // The one that has waited longest first: the first ones are due again before all have had their turn.
      const due = dependencies.filter(isDue).toSorted((a, b) => lastAtMs(a) - lastAtMs(b));
      for (const dependency of due) void check(dependency);
    },
    problems: () =>
      all()
        .flatMap(dependency => {
          const state = states.known(keyOf(dependency));
          return state?.detail === undefined ? [] : [problemOf(dependency, state)];
        })
        .toSorted((a, b) => rankOf(a) - rankOf(b) || ascending(a.since, b.since))
        .slice(0, maxProblems),
    version: () => version,
  };
};

interface StatesNeeds extends Pick<Needs, 'now' | 'monotonic'> {
  /** `state` still has the problem in both. */
  onBegin(key: string, state: State): void;
  onEnd(key: string, state: State): void;
}

/** Due, whatever the clock says. */
const longAgoMs = Number.MIN_SAFE_INTEGER;

const createStates = ({now, monotonic, onBegin, onEnd}: StatesNeeds) => {
  const states = new Map<string, State>();
  const stateOf = (key: string): State => {
    const known = states.get(key);
    if (known) return known;
    const state: State = {
      ...{lastAtMs: monotonic(), failedUses: 0, lastFailedUseMs: Number.NEGATIVE_INFINITY},
      ...{isCheckDoubted: false, isChecking: false, sinceMs: 0, detail: undefined},
    };
    states.set(key, state);
    return state;
  };
  const begin = (key: string, state: State, detail: string): void => {
    const isNew = state.detail === undefined;
    state.detail = oneLine(detail);
    if (isNew) onBegin(key, state);
  };
  const end = (key: string, state: State): void => {
    if (state.detail !== undefined) onEnd(key, state);
    Object.assign(state, {failedUses: 0, isCheckDoubted: false, detail: undefined});
  };

  return {
    of: stateOf,
    /** Reading what is known, as heartbeats do from the start on, must not make a part that nothing has used look used. */
    known: (key: string): State | undefined => states.get(key),
    worked(key: string): void {
      const state = stateOf(key);
      state.lastAtMs = monotonic();
      if (state.failedUses > 0 || state.detail !== undefined) end(key, state);
    },
    /** Whether that makes it a problem; otherwise a check has to tell. */
    failed(key: string, {detail, isCertain}: {detail: string; isCertain: boolean}): boolean {
      const state = stateOf(key);
      if (state.failedUses === 0 && state.detail === undefined) state.sinceMs = now();
      Object.assign(state, {lastAtMs: monotonic(), lastFailedUseMs: monotonic(), failedUses: state.failedUses + 1});
      if (!isCertain && state.failedUses < certainUses) return false;
      begin(key, state, detail);
      return true;
    },
    checked(key: string, detail: string | undefined, sinceMs?: number): void {
      const state = stateOf(key);
      state.lastAtMs = monotonic();
      if (detail !== undefined) {
        if (sinceMs !== undefined) state.sinceMs = sinceMs;
        else if (state.detail === undefined && state.failedUses === 0) state.sinceMs = now();
        state.isCheckDoubted = false;
        begin(key, state, detail);
      } else if (monotonic() - state.lastFailedUseMs > usesCountMs) end(key, state);
      else if (state.failedUses > 0 && state.detail === undefined) state.isCheckDoubted = true;
      else if (!state.isCheckDoubted) end(key, state);
    },
    /** All but those that were used already are due. */
    addUnused(keys: readonly string[]): void {
      for (const key of keys) if (!states.has(key)) stateOf(key).lastAtMs = longAgoMs;
    },
    retain(keys: ReadonlySet<string>): void {
      for (const key of states.keys()) if (!keys.has(key)) states.delete(key);
    },
  };
};

const keyOf = ({part, name}: Pick<Dependency, 'part' | 'name'>): string => `${part} ${name}`;

const problemOf = ({part, name, domains = [], refusesMail = false}: Dependency, {sinceMs, detail = ''}: State): Problem => ({
  part,
  name,
  domains: domains.slice(0, maxProblemDomains),
  since: new Date(sinceMs).toISOString(),
  detail,
  refuses_mail: refusesMail,
});

/** A hundred of these must not hide a dead scanner. */
const many: readonly string[] = ['backend', 'webhook', 'digest'] satisfies DependencyPart[];

const rankOf = ({part, refuses_mail}: Problem): number => (refuses_mail ? 0 : many.includes(part) ? 2 : 1);

/** Servers write a part of it. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, maxDetailChars);
