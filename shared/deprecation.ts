/** The announcement that something will be removed from the API. Days are in UTC. */
export interface Deprecation {
  /** Day of the announcement, such as `2027-01-01`. */
  since: string;
  /** First day on which it may be removed: at least six months after `since`. */
  sunset: string;
  /** A page that says what to use instead. */
  page?: string;
}

/**
 * Metadata for the schema of a field or of a query parameter: `schema.meta(deprecated({since, sunset}))`. An operation has the
 * property `deprecated` for the same. The description, the headers of the answers, the warning of mfctl and the metric all
 * follow from this property.
 */
export const deprecated = (deprecation: Deprecation) => ({deprecated: true, 'x-deprecation': deprecation});
