// A client of the API over functions of a test.
import {type Client, clientOver} from '../../../cli/client/client.ts';
import type {Transport} from '../../../cli/client/transport.ts';

/** What a test does not give answers nothing. */
export const fakeClient = (transport: Partial<Transport>): Client => {
  const unexpected = async (): Promise<never> => {
    throw new Error('this test does not expect such a request');
  };
  return clientOver({send: unexpected, raw: unexpected, download: unexpected, events: unexpected, ...transport});
};
