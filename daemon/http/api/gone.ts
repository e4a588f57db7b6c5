import type {ServerResponse} from 'node:http';

/** Aborts when the connection of a request closes. */
export const goneOf = ({res}: {res: ServerResponse}): AbortSignal => {
  const gone = new AbortController();
  if (res.closed) gone.abort();
  res.once('close', () => gone.abort());
  return gone.signal;
};
