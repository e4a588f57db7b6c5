/** Ascending order by code units for Array.sort: the same on every machine, whatever its language. */
export const ascending = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : Number(a > b));
