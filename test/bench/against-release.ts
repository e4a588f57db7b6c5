// Comparison with an earlier release, which is built from the history of the repository and runs beside this build.
import {type Release, releaseMissing, releases} from '../helpers/released-build.ts';
import {alternate} from './alternate.ts';
import type {BenchContext} from './bench.ts';
import {reportRatios} from './ratios.ts';

export const releaseToCompare: Release = releases.find(({version}) => version === '0.8.1') as Release;

/** The reason why the release cannot be built here; undefined where it can. */
export const releaseToCompareMissing = (): string | undefined => releaseMissing(releaseToCompare);

export interface Pair<T> {
  own: T;
  release: T;
}

interface Compared {
  /** Each resolves with a speed: more is better. */
  works: Pair<() => Promise<number>>;
  warmUps: number;
  /** More and shorter ones see a difference of some percent on a machine whose speed varies. */
  rounds?: number;
  text(value: number): string;
}

/** Reports the median of the ratios of alternated runs. */
export const compareWithRelease = async (
  context: BenchContext,
  row: string,
  {works, warmUps, rounds = 5, text}: Compared,
): Promise<void> => {
  const {own, release} = await alternate({...works}, {rounds: context.isQuick ? 3 : rounds, warmUps});
  reportRatios(context, row, {own, anchor: release, text});
};
