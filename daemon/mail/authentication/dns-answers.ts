// DNS for the verification of mail: answers are kept for a while, a mail waits for a bounded time, and a name server that does not answer
// makes no mail wait at all.

import {Resolver} from 'node:dns/promises';
import {hasOwn} from '../../../shared/has-own.ts';
import type {Lookup, RecordType} from '../lookup.ts';

export interface DnsAnswers {
  /** Lookups for one mail. All of them end when their time is over, which begins with the first. */
  forMail(): Lookup;
  /** Whether the name servers do not answer at all. */
  isMute(): boolean;
  /** Asks the name servers for the root zone. Resolves with whether they answer. */
  check(): Promise<boolean>;
}

interface Needs {
  /** Name servers as `HOST:PORT`, instead of the system's. */
  servers?: readonly string[] | undefined;
  /** For all lookups of one mail. */
  timeoutMs: number;
  /** A clock that is never set. */
  monotonic(): number;
  onMute(): void;
  onBack(): void;
}

const keptMs = 5 * 60_000;
/** A name without an answer is not asked for again for this long, and neither are silent servers. */
const failedMs = 30_000;
const maxKept = 5000;
/** Larger answers are not kept. With the number of answers this limits their memory to 20 MB. */
const maxKeptBytes = 4096;
/** A message has room for 4,000 addresses, or 64 KiB of text, and a mail asks a hundred times. What is used is far smaller. */
const maxRecords = 500;
const maxTextChars = 4096;

type Answer = {records: unknown[]} | {code: 'ENOTFOUND' | 'ENODATA' | 'ETIMEOUT'};

const unknown: Answer = {code: 'ETIMEOUT'};

interface Kept {
  answer: Answer;
  until: number;
}

export const createDnsAnswers = ({servers, timeoutMs, monotonic, onMute, onBack}: Needs): DnsAnswers => {
  const resolver = new Resolver({timeout: Math.ceil(timeoutMs / 2), tries: 2});
  if (servers && servers.length > 0) resolver.setServers(servers);
  const kept = new Map<string, Kept>();
  const asking = new Map<string, Promise<Answer>>();
  const mute = createMuteness({resolver, monotonic, onMute, onBack});

  const keep = (key: string, answer: Answer, ms: number): void => {
    if (hasOwn(answer, 'records') && sizeOf(answer.records) > maxKeptBytes) return;
    const oldest = kept.keys().next();
    if (kept.size >= maxKept && !oldest.done) kept.delete(oldest.value);
    // Deleted first, because a Map keeps the position of a key, and the newest must be last.
    kept.delete(key);
    kept.set(key, {answer, until: monotonic() + ms});
  };

  const askServers = async (key: string, name: string, type: RecordType): Promise<Answer> => {
    try {
      const {records: all, ttlSeconds} = await query(resolver, name, type);
      const records = all.slice(0, maxRecords);
      mute.end();
      keep(key, {records}, Math.min(keptMs, (ttlSeconds ?? Infinity) * 1000));
      return {records};
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ETIMEOUT') await mute.check();
      keep(key, {code}, code === 'ETIMEOUT' ? failedMs : keptMs);
      return {code};
    }
  };

  const answerTo = async (name: string, type: RecordType): Promise<Answer> => {
    const key = `${type} ${name.toLowerCase()}`;
    const known = kept.get(key);
    if (known && known.until > monotonic()) return known.answer;
    if (mute.isMute()) return unknown;
    const question = asking.get(key) ?? askServers(key, name, type).finally(() => asking.delete(key));
    asking.set(key, question);
    return question;
  };

  return {
    isMute: mute.isMute,
    async check() {
      const isAnswered = await mute.check();
      if (isAnswered) mute.end();
      return isAnswered;
    },
    forMail() {
      let endsAt: number | undefined;
      // Answers that came in time stay available to the mail.
      const asked = new Map<string, Promise<Answer>>();
      const ask = async (name: string, type: RecordType): Promise<Answer> => {
        endsAt ??= monotonic() + timeoutMs;
        const leftMs = endsAt - monotonic();
        return leftMs > 0 ? within(leftMs, answerTo(name, type)) : unknown;
      };
      return async (name, type) => {
        const key = `${type} ${name.toLowerCase()}`;
        const asking = asked.get(key) ?? ask(name, type);
        asked.set(key, asking);
        const answer = await asking;
        // A copy, as its user may sort it.
        if (hasOwn(answer, 'records')) return [...answer.records];
        throw Object.assign(new Error(`${type} ${name}: ${answer.code}`), {code: answer.code});
      };
    },
  };
};

/** A time-out is the fault of the domain that was asked for, unless the root zone cannot be reached either. */
const createMuteness = ({
  resolver,
  monotonic,
  onMute,
  onBack,
}: Pick<Needs, 'monotonic' | 'onMute' | 'onBack'> & {resolver: Resolver}) => {
  let isKnown = false;
  let until = 0;
  let probing: Promise<boolean> | undefined;

  const probe = async (): Promise<boolean> => {
    const isAnswered = await resolver.resolveNs('.').then(
      () => true,
      error => codeOf(error) !== 'ETIMEOUT',
    );
    if (isAnswered) return true;
    until = monotonic() + failedMs;
    if (!isKnown) onMute();
    isKnown = true;
    return false;
  };

  return {
    isMute: () => monotonic() < until,
    /** Resolves with whether they answer. */
    async check(): Promise<boolean> {
      probing ??= probe().finally(() => {
        probing = undefined;
      });
      return probing;
    },
    end(): void {
      until = 0;
      if (isKnown) onBack();
      isKnown = false;
    },
  };
};

const query = async (resolver: Resolver, name: string, type: RecordType): Promise<{records: unknown[]; ttlSeconds?: number}> => {
  if (type === 'TXT') return {records: (await resolver.resolveTxt(name)).map(boundedText)};
  if (type !== 'A' && type !== 'AAAA') return {records: (await resolver.resolve(name, type)) as unknown[]};
  const addresses = await (type === 'A' ? resolver.resolve4(name, {ttl: true}) : resolver.resolve6(name, {ttl: true}));
  return {records: addresses.map(({address}) => address), ttlSeconds: Math.min(...addresses.map(({ttl}) => ttl))};
};

/** A longer text is cut, with an end that is an error in a key; an SPF record may not be that long. */
const boundedText = (parts: string[]): string[] => {
  const isLong = parts.reduce((sum, {length}) => sum + length, 0) > maxTextChars;
  return isLong ? [`${parts.join('').slice(0, maxTextChars)};!`] : parts;
};

const sizeOf = (records: readonly unknown[]): number =>
  records.flat().reduce<number>((sum, part) => sum + (typeof part === 'string' ? part.length : maxNameChars), 0);

const maxNameChars = 253;

const codeOf = (error: unknown): 'ENOTFOUND' | 'ENODATA' | 'ETIMEOUT' => {
  const {code} = error as NodeJS.ErrnoException;
  // Nobody can own an invalid name.
  if (code === 'EBADNAME') return 'ENOTFOUND';
  return code === 'ENOTFOUND' || code === 'ENODATA' ? code : 'ETIMEOUT';
};

const within = async (ms: number, question: Promise<Answer>): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>(resolve => {
    timer = setTimeout(() => resolve(unknown), ms);
  });
  return Promise.race([question, late]).finally(() => clearTimeout(timer));
};
