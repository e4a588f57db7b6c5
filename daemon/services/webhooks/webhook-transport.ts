// Port to the addresses of webhooks.

export interface PostResult {
  /** Null when there was no answer. */
  status: number | null;
  /** Why it was not taken, without anything that the receiver wrote or the path of the address; null when it was taken. */
  error: string | null;
  took_ms: number;
  /** What the receiver asked for with 429 or 503. */
  retryAfterMs?: number | undefined;
}

interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Ends the request. */
  signal: AbortSignal;
}

/** Of one webhook, whatever logs are sent to it. */
export const requestsAtOnce = 8;

/** Never rejects. */
export type Post = (request: PostRequest) => Promise<PostResult>;

export interface WebhookTransport {
  /** The connections to one webhook. */
  open(): {post: Post; close(): void};
}
