// Endpoints of the audit log and of server-sent events (WHATWG HTML, section 9.2).

import {z} from 'zod';
import {auditEntrySchema} from '../../../shared/audit-entry.ts';
import {eventsQuerySchema, type StreamEvent} from '../../../shared/cluster-event.ts';
import {permissionFor} from '../../../shared/event-type.ts';
import {auditQuerySchema} from '../../../shared/hold-filter.ts';
import {pingSeconds} from '../../services/events/events.ts';
import {createTextStream} from '../answer.ts';
import {endpoint, gatheredPage, header} from './endpoint.ts';
import {replyPage} from './gathered-answer.ts';

/** OpenAPI 3.1 cannot describe single events of a stream; `contentSchema` of JSON Schema comes closest. */
const eventStream = {
  type: 'string' as const,
  contentMediaType: 'text/event-stream',
  contentSchema: {$ref: '#/components/schemas/ClusterEvent'},
};

export const eventEndpoints = [
  endpoint({
    method: 'get',
    path: '/audit',
    permission: 'audit:read',
    operationId: 'listAudit',
    tag: 'Audit',
    summary: 'Audit entries of all nodes, newest first',
    query: auditQuerySchema,
    answer: () => gatheredPage(auditEntrySchema, {total: 'All matches', missing: 'Nodes whose entries are missing here'}),
    async run(ctx, {audit}, query) {
      const {result, unreachable} = await audit.list(ctx.state.actor, query);
      replyPage(ctx, query, {...result, unreachable});
    },
  }),
  endpoint({
    method: 'get',
    path: '/events',
    permission: [...new Set(Object.values(permissionFor))],
    operationId: 'watchEvents',
    tag: 'Events',
    summary: 'Server-sent events, from now on, or of mail after an earlier one',
    headers: () => ({
      'Last-Event-ID': z.string().optional().meta({description: 'As `after`; browsers send it when they reconnect'}),
    }),
    query: eventsQuerySchema,
    answer: () => ({
      status: 200,
      content: {'text/event-stream': {schema: eventStream}},
      headers: {
        'X-Ping-Interval': header(
          'A comment comes at least this often, in seconds; a connection that is silent for longer was cut',
          'integer',
        ),
      },
    }),
    async run(ctx, {events}, {type, after}) {
      const stream = createTextStream();
      const wish = {types: type, after: ctx.get('Last-Event-ID') || after || undefined};
      const watch =
        ctx.method === 'HEAD'
          ? undefined
          : events.watch(ctx.state.actor, wish, {
              event: (event, id) => stream.send(framed(event, id)),
              position: id => stream.send(`id: ${id}\n\n`),
              ready: stream.ready,
              ping: () => stream.send(': ping\n\n'),
              end: stream.end,
            });
      ctx.status = 200;
      ctx.set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Accel-Buffering': 'no',
        'X-Ping-Interval': String(pingSeconds),
      });
      // Before anything is awaited: it is closed when the client goes.
      ctx.body = stream.body;
      if (!watch) return;
      stream.onClose(watch.close);
      stream.send(
        `retry: ${retryMs}\n: events of mail have an id; with it as Last-Event-ID the next stream begins after them\n\n`,
      );
      await watch.begun;
      void watch.silent.then(silent => stream.send(listening(silent)));
    },
  }),
];

/** How long a client should wait before it reconnects. */
const retryMs = 2000;

const framed = (event: StreamEvent, id: string | undefined): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const listening = (silent: string[]): string =>
  silent.length === 0 ? ': listening to all nodes\n\n' : `: listening, but ${silent.join(', ')} cannot be heard at present\n\n`;
