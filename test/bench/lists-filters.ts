// Benchmarks of each list filter, with values that match many mails and values that match few. Where people would vary the
// values, each request has another one, so that cached lookups alone are not measured.
import {alternate, timed} from './alternate.ts';
import type {BenchContext} from './bench.ts';
import type {ListedCluster} from './listed-cluster.ts';
import type {Lister} from './lister.ts';
import {quantilesOf} from './quantiles.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

type QueryOf = (round: number) => Record<string, string | number>;

export type Queries = Record<string, QueryOf>;

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const oneOf = (values: string[], round: number): string => values[round % values.length] ?? '';

/** See `held-store.ts` for the stored mails. */
export const singleFilters: Queries = {
  'no filter': () => ({}),
  'domain, a quarter': () => ({domain: 'd0.example'}),
  'domain, few': round => ({domain: `d${1 + (round % 49)}.example`}),
  'sender domain, many': () => ({sender: 'letters.example'}),
  'sender domain, few': round => ({sender: `s${round * 37}.example`}),
  'sender, many': () => ({sender: 'offers@shop.example'}),
  'sender, one': round => ({sender: `news${(round % 100) * 7}@letters.example`}),
  'from domain, many': () => ({from: 'letters.example'}),
  'from domain, few': round => ({from: `s${round * 37}.example`}),
  'from, many': () => ({from: 'offers@shop.example'}),
  'from, one': round => ({from: `news${(round % 100) * 7}@letters.example`}),
  'address, many': () => ({address: 'offers@shop.example'}),
  'address, few': round => ({address: `user${round % 2000}@d${round % 50}.example`}),
  bounces: () => ({sender: '<>'}),
  'reason, many': () => ({reason: 'spam'}),
  'reason, few': () => ({reason: 'sandbox'}),
  'min_score, most': round => ({min_score: 6 + (round % 97) / 100}),
  'min_score, few': round => ({min_score: 14 + (round % 97) / 100}),
  'max_score, half': round => ({max_score: 8 + (round % 97) / 100}),
  'since an hour': round => ({since: ago(hourMs + round * 1000)}),
  'since three weeks': round => ({since: ago(21 * dayMs + round * 61_000)}),
  'until an hour ago': round => ({until: ago(hourMs + round * 61_000)}),
  'until three weeks ago': round => ({until: ago(21 * dayMs + round * 61_000)}),
  'recipient, many': () => ({recipient: 'sales@d0.example'}),
  'recipient, few': round => ({recipient: `user${round % 2000}@d${round % 50}.example`}),
};

export const subjectFilters: Queries = {
  'subject, common': round => ({subject: oneOf(['offer', 'invoice', 'voice', 'Save 80', 'urgent', 'parcel'], round)}),
  'subject, one in a thousand': round => ({subject: oneOf(['Kündigung', 'KÜNDIGUNG ', 'Ihres Vertrags'], round)}),
  'subject, few': round => ({subject: `parcel DK${4000 + round}`}),
  'subject, none': round => ({subject: `zebra ${round}`}),
};

export const filtersTogether: Queries = {
  'subject of two letters': round => ({subject: oneOf(['of', 'in', 'vo', 'ur'], round)}),
  'subject of one letter': round => ({subject: oneOf(['k', 'z', 'ü'], round)}),
  'domain and sender domain': () => ({domain: 'd0.example', sender: 'letters.example'}),
  'subject and since': round => ({subject: 'offer', since: ago(21 * dayMs + round * 61_000)}),
  'reason, score and domain': round => ({reason: 'spam', min_score: 6 + (round % 97) / 100, domain: 'd0.example'}),
};

export const nodeFilter = ({nodes}: ListedCluster): Queries => ({node: () => ({node: nodes[1]?.node_id ?? ''})});

/** Reports the slowest query; unless the row is not wanted. */
export const measureQueries = async (
  {isQuick, isWanted, report, say}: BenchContext,
  row: string,
  {list, queries}: {list: Lister; queries: Queries},
): Promise<void> => {
  if (!isWanted(row)) return;
  const totals = new Map<string, number>();
  const firsts = new Map<string, number>();
  const works = Object.fromEntries(
    Object.entries(queries).map(([name, queryOf]) => {
      let round = 0;
      const ask = async () => {
        const query = queryOf(round);
        round += 1;
        const parameters = Object.entries({limit: 100, ...query}).map(([key, value]): [string, string] => [key, String(value)]);
        return timed(async () => totals.set(name, (await list(String(new URLSearchParams(parameters)))).total));
      };
      return [
        name,
        async () => {
          const took = await ask();
          if (!firsts.has(name)) firsts.set(name, took);
          return took;
        },
      ];
    }),
  );
  const figures = await alternate(works, {rounds: isQuick ? 12 : 60, warmUps: 2});
  const measured = Object.entries(figures).map(([name, times]) => ({name, ms: quantilesOf(times).p50}));
  for (const {name, ms} of measured)
    say(`${name} ${ms.toFixed(1)} ms (${totals.get(name)} mails, first ${(firsts.get(name) ?? 0).toFixed(1)} ms)`);
  const slowest = measured.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
  report(row, {
    value: slowest[0]?.ms ?? Number.NaN,
    own: `slowest: ${slowest.map(({name, ms}) => `${name} ${ms.toFixed(1)}`).join('; ')}`,
  });
};
