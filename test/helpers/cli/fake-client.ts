// A client of the API whose functions are given by a test.
import {type Client, clientOver} from '../../../cli/client/client.ts';
import type {Transport} from '../../../cli/client/transport.ts';

/** Functions that the test does not give return nothing. */
export const fakeClient = (transport: Partial<Transport>): Client => {
  const unexpected = async (): Promise<never> => {
    throw new Error('this test does not expect such a request');
  };
  return clientOver({send: unexpected, raw: unexpected, download: unexpected, events: unexpected, ...transport});
};
