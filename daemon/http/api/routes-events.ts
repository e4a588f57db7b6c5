// Route for server-sent events (WHATWG HTML, section 9.2).
import type Router from '@koa/router';
import {eventsQuerySchema} from '../../../shared/cluster-event.ts';
import {permissionFor} from '../../../shared/event-type.ts';
import type {BusEvent} from '../../services/events/event-bus.ts';
import {type Events, pingSeconds} from '../../services/events/events.ts';
import {createTextStream} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {queryOf} from '../request-input.ts';
import {needsOneOf} from './guard.ts';

export const routeEvents = (router: Router<RequestState>, events: Events): void => {
  router.get('/events', needsOneOf(Object.values(permissionFor)), async ctx => {
    const {type} = queryOf(ctx, eventsQuerySchema);
    const stream = createTextStream();
    if (ctx.method !== 'HEAD') {
      const watch = events.watch(ctx.state.actor, type, {
        event: event => stream.send(framed(event)),
        ping: () => stream.send(': ping\n\n'),
        end: stream.end,
      });
      stream.onClose(watch.close);
      stream.send(`retry: ${retryMs}\n: from now on; what was missed is not told again, whatever Last-Event-ID says\n\n`);
      void watch.silent.then(silent => stream.send(listening(silent)));
    }
    ctx.status = 200;
    ctx.set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'X-Accel-Buffering': 'no',
      'X-Ping-Interval': String(pingSeconds),
    });
    ctx.body = stream.body;
  });
};

/** How long a client should wait before it reconnects. */
const retryMs = 2000;

const framed = ({id, event}: BusEvent): string => `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const listening = (silent: string[]): string =>
  silent.length === 0 ? ': listening to all nodes\n\n' : `: listening, but ${silent.join(', ')} cannot be heard at present\n\n`;
