import test from 'ava';
import type {Client, Request} from '../../../../cli/client/client.ts';
import {endingClient} from '../../../../cli/dashboard/shell/ending-client.ts';

test('what a screen reads is given up soon, what it changes has its time, and who knows better says so', async t => {
  const asked: Request[] = [];
  const send = async <T>(request: Request) => {
    asked.push(request);
    return {data: undefined as T, etag: undefined, totalCount: undefined, unreachableNodes: []};
  };
  const client = endingClient({send} as unknown as Client, new AbortController().signal);

  await client.send({path: 'cluster/status'});
  await client.send({method: 'POST', path: 'mail/quarantine/mx1/A/release'});
  await client.send({path: 'cluster/drift', silenceMs: 60_000});

  t.deepEqual(
    asked.map(({silenceMs}) => silenceMs),
    [10_000, undefined, 60_000],
  );
});
