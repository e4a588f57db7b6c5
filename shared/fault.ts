/** Every error a caller may see, with the HTTP status it has on the wire. */
export const statusOfCode = {
  malformed_json: 400,
  invalid_parameter: 400,
  key_missing: 401,
  key_invalid: 401,
  key_revoked: 401,
  key_expired: 401,
  insufficient_scope: 403,
  /** Between nodes only: the calling node has been removed from the cluster. */
  node_removed: 403,
  not_found: 404,
  unknown_node: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  rate_limited: 429,
  internal: 500,
  delivery_failed: 502,
  node_unreachable: 503,
  unavailable: 503,
  outcome_unknown: 504,
} as const;

export type FaultCode = keyof typeof statusOfCode;

/** One wrong member of a request, or one recipient a delivery failed for. */
export interface FieldFault {
  path: string;
  detail: string;
}

interface FaultDetails {
  cause?: unknown;
  fields?: FieldFault[];
  /** With `insufficient_scope`: the scopes that may do this. */
  requiredScopes?: string[];
  /** With `rate_limited`, `unavailable` and `node_unreachable`. */
  retryAfterSeconds?: number;
  /** With `method_not_allowed`. */
  allow?: string[];
}

/**
 * The error class for callers: `detail` says what is wrong and what to do about it, and contains no file, SQL or secret.
 * Any other error is a bug, answered as `internal`.
 */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly detail: string;
  readonly details: FaultDetails;

  constructor(code: FaultCode, detail: string, details: FaultDetails = {}) {
    super(`${code}: ${detail}`, details.cause === undefined ? undefined : {cause: details.cause});
    this.name = 'Fault';
    this.code = code;
    this.detail = detail;
    this.details = details;
  }

  get status(): number {
    return statusOfCode[this.code];
  }
}
