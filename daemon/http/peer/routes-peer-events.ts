// Route that streams hold events of this node to other nodes that have subscribers: one JSON object per line.
import type {z} from 'zod';
import type {BusEvent, EventBus} from '../../services/events/event-bus.ts';
import type {holdEventSchema} from '../../services/quarantine/peer-hold-protocol.ts';
import {createTextStream, type TextStream} from '../text-stream.ts';
import type {PeerRouter} from './peer-app.ts';

/** Well below the time after which the other end takes the stream for dead. */
const pingMs = 5000;

export const routePeerEvents =
  ({bus}: {bus: EventBus}) =>
  (router: PeerRouter): void => {
    /** One stream for each peer: a new request replaces the old stream, which the peer has lost. */
    const open = new Map<number, TextStream>();

    router.get('/hold-events', async ctx => {
      const {nodeNo} = ctx.state.peer;
      const stream = createTextStream();
      open.get(nodeNo)?.end();
      open.set(nodeNo, stream);
      const unsubscribe = bus.subscribe(event => {
        const line = toLine(event);
        if (line) stream.send(`${JSON.stringify(line)}\n`);
      }, stream.end);
      const ping = setInterval(() => stream.send('\n'), pingMs).unref();
      stream.onClose(() => {
        unsubscribe();
        clearInterval(ping);
        if (open.get(nodeNo) === stream) open.delete(nodeNo);
      });
      ctx.status = 200;
      ctx.set('Content-Type', 'application/x-ndjson');
      ctx.body = stream.body;
      stream.send('\n');
    });
  };

/** Only hold events: every node publishes events of domains, keys and health itself. */
const toLine = ({id, domainId, event}: BusEvent): z.input<typeof holdEventSchema> | undefined => {
  if (domainId === undefined) return undefined;
  if (event.type !== 'held' && event.type !== 'released' && event.type !== 'discarded') return undefined;
  return {id, domain_id: domainId, event};
};
