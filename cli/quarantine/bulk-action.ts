// Release and discard of many held mails. Prints nothing, as the commands and the dashboard use it.
import {hasOwn} from '../../shared/has-own.ts';
import type {ActionOutcome, BulkResult, HeldMail, HoldAction, MailReference} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {inMfctlWords} from '../client/request-failure.ts';
import {CliError} from '../errors.ts';
import {countText, plural, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Printer} from '../output/printer.ts';
import type {Listed} from '../output/table.ts';
import {mailId} from './held-mail-columns.ts';
import {heldMailPages} from './held-mail-pages.ts';

export interface Progress {
  done: number;
  total: number;
}

export interface Matching {
  /** Newest first, as of the first page: mail that arrives later is not included. */
  mails: HeldMail[];
  /** Their mail is missing. */
  unreachableNodes: string[];
}

/** Every mail is in exactly one of these. */
export interface BulkOutcome {
  /** The results of the mails that were acted on, in their order; failures have an `error`. */
  results: BulkResult[];
  /** The request was sent and its answer did not arrive. A retry is safe: nothing is done twice. */
  uncertain: MailReference[];
  /** No request was sent. */
  untried: MailReference[];
  /** Why it ended early; undefined when it did not, or was stopped. */
  failure: CliError | undefined;
}

interface BulkNeeds {
  onProgress?(progress: Progress): void;
  /** When it aborts, requests under way are completed, and no other is started. */
  signal?: AbortSignal | undefined;
  /** When it aborts, requests under way are cancelled, and their mails become `uncertain`. */
  abandon?: AbortSignal | undefined;
  /** Milliseconds of any clock. */
  now?(): number;
}

/** All mail that matches the filters of the list. Rejects with a CliError, or with the reason of `signal` when that aborts. */
export const collectMatching = async (
  client: Pick<Client, 'quarantine'>,
  query: Query,
  {signal, onProgress}: Pick<BulkNeeds, 'signal' | 'onProgress'>,
): Promise<Matching> => {
  const mails: HeldMail[] = [];
  const unreachable = new Set<string>();
  let total = 0;
  for await (const page of heldMailPages(client, query, signal)) {
    mails.push(...page.mails);
    for (const node of page.unreachableNodes) unreachable.add(node);
    total ||= page.totalCount ?? 0;
    onProgress?.({done: mails.length, total: Math.max(total, mails.length)});
  }
  return {mails, unreachableNodes: [...unreachable]};
};

const firstChunkSize = 100;
/** The most mails in one request. */
const maxChunkSize = 1000;
const minChunkSize = 10;
/** Target time for a chunk: short enough for progress and a prompt stop, long enough for the rate limit of the key. */
const aimMs = 1000;

/**
 * Acts on `mails`, in chunks. Never rejects because of the node: the report contains what was done until then. What
 * another person did before is not a failure, but `already` in its result.
 */
export const actOn = async (
  client: Pick<Client, 'quarantine'>,
  action: HoldAction,
  mails: readonly MailReference[],
  {onProgress, signal, abandon, now = () => performance.now()}: BulkNeeds = {},
): Promise<BulkOutcome> => {
  const items = mails.map(({node_id, queue_id}) => ({node_id, queue_id}));
  const results: BulkResult[] = [];
  let size = firstChunkSize;
  let before: Timed | undefined;
  let at = 0;
  onProgress?.({done: 0, total: items.length});
  while (at < items.length && !signal?.aborted && !abandon?.aborted) {
    const chunk = items.slice(at, at + size);
    const startedAt = now();
    const outcome = await actOnChunk(client, action, chunk, {signal, abandon});
    results.push(...outcome.answers);
    if (outcome.error !== undefined)
      return {results, ...brokenOff(outcome, items.slice(at + chunk.length), abandon?.aborted ?? false)};
    at += chunk.length;
    onProgress?.({done: at, total: items.length});
    const last = {size, tookMs: now() - startedAt};
    size = nextSize(last, before);
    before = last;
  }
  return {results, uncertain: [], untried: items.slice(at), failure: undefined};
};

interface ChunkOutcome {
  /** In the order of the mails. */
  answers: BulkResult[];
  /** The mails that `error` concerns. */
  left: MailReference[];
  error?: unknown;
}

/** A node answers within seconds and reports mails that it had no time for as `unavailable`: these are retried as long as some succeed. */
const actOnChunk = async (
  client: Pick<Client, 'quarantine'>,
  action: HoldAction,
  chunk: MailReference[],
  {signal, abandon}: Pick<BulkNeeds, 'signal' | 'abandon'>,
): Promise<ChunkOutcome> => {
  const results: BulkResult[] = [];
  let left = [...chunk.entries()];
  for (;;)
    try {
      const items = left.map(([, mail]) => mail);
      const {data} = await client.quarantine.actOnMany(action, items, {signal: abandon});
      const late = left.filter((_, n) => isLate(data[n]));
      left.forEach(([at], n) => {
        const result = data[n];
        if (result) results[at] = result;
      });
      if (late.length === 0 || late.length === left.length || signal?.aborted)
        return {answers: results.filter(Boolean), left: []};
      left = late;
    } catch (error) {
      for (const [at] of left) delete results[at];
      return {answers: results.filter(Boolean), left: left.map(([, mail]) => mail), error};
    }
};

/** Throws errors that are not the node's. */
const brokenOff = ({left, error}: ChunkOutcome, rest: MailReference[], isGivenUp: boolean): Omit<BulkOutcome, 'results'> => {
  if (isGivenUp) return {uncertain: left, untried: rest, failure: undefined};
  if (!(error instanceof CliError)) throw error;
  if (hasNoAnswer(error)) return {uncertain: left, untried: rest, failure: error};
  return {uncertain: [], untried: [...left, ...rest], failure: error};
};

const isLate = (result: BulkResult | undefined): boolean =>
  result !== undefined && hasOwn(result, 'error') && result.error.code === 'unavailable';

interface Timed {
  size: number;
  tookMs: number;
}

/**
 * Only the time that grows with the size counts: where each request takes long whatever its size, small chunks would make everything
 * slower. Two chunks tell the two apart if one is larger by a quarter: between nearly equal ones, chance decides which took longer.
 */
const nextSize = (last: Timed, before: Timed | undefined): number => {
  const more = before ? last.size - before.size : 0;
  const msPerMail = before && Math.abs(more) > before.size / 4 ? (last.tookMs - before.tookMs) / more : last.tookMs / last.size;
  const wanted = msPerMail > 0 ? aimMs / msPerMail : Number.POSITIVE_INFINITY;
  return Math.round(Math.min(maxChunkSize, last.size * 2, Math.max(minChunkSize, wanted)));
};

/** Whether the request may have arrived without an answer. A refused connection received nothing, and a refusal is an answer. */
const hasNoAnswer = ({code, cause}: CliError): boolean => {
  if (code === 'outcome_unknown' || code === 'timeout') return true;
  const reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  return code === 'unreachable' && !['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'].includes(reason);
};

const columns: Column<ActionOutcome>[] = [
  {title: 'ID', cell: mailId},
  {title: 'STATE', cell: outcome => outcome.state},
  {title: 'AT', cell: outcome => timeText(outcome.acted_at)},
  {title: 'BY KEY', cell: outcome => outcome.acted_by_key_id, align: 'right'},
  {title: 'NOTE', cell: outcome => (outcome.already ? 'was done before' : '')},
];

export const actionOutcomes: Listed<ActionOutcome> = {
  fields: ['node_id', 'queue_id', 'state', 'acted_at', 'acted_by_key_id', 'already'],
  nameOf: mailId,
  columns,
};

/** Failures are among the results, except in the table. */
export const bulkResults: Listed<BulkResult, ActionOutcome> = {
  ...actionOutcomes,
  fields: [...actionOutcomes.fields, 'error'],
  linesOf: all => all.filter(result => hasOwn(result, 'state')),
  none: 'nothing was done',
};

export const pastTense: Record<HoldAction, string> = {release: 'released', discard: 'discarded'};

/** The format `name` lists only what was done; the other formats for programs also list failures. */
export const printResults = (printer: Printer, results: readonly BulkResult[]): void =>
  printer.list(printer.format === 'name' ? results.filter(result => hasOwn(result, 'state')) : results, bulkResults);

/** Prints failures for output formats that do not contain them. Returns their number. */
export const warnOfFailures = (printer: Printer, results: readonly BulkResult[]): number => {
  const failed = results.filter(result => hasOwn(result, 'error'));
  if (printer.isForPeople || printer.format === 'name')
    for (const result of failed) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(({path, detail: reply}) => `; ${path}: ${reply}`).join('');
      printer.warn(`${mailId(result)}: ${inMfctlWords(detail)} (${code})${replies}`);
    }
  return failed.length;
};

/** `990 mails released, 8 of them before by somebody else`. */
export const countResults = (action: HoldAction, results: readonly BulkResult[]): string => {
  const done = results.filter(result => hasOwn(result, 'state'));
  const before = done.filter(({already}) => already).length;
  return `${plural(done.length, 'mail')} ${pastTense[action]}${before > 0 ? `, ${countText(before)} of them before this` : ''}`;
};
