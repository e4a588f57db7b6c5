// Plain HTTP listener for Prometheus and load balancers, by default on loopback.
import Koa from 'koa';
import type {Logger} from 'pino';
import type {Metrics, MetricsSource} from './metrics.ts';

interface Needs {
  metrics: Metrics;
  source: MetricsSource;
  /** The reasons why the node cannot take requests or mail, one line each; empty when it can. */
  unready(): Promise<string[]>;
  /** Problems that do not keep the node from taking requests and mail, one line each. */
  remarks(): string[];
  log: Logger;
}

export const createMetricsApp = ({metrics, source, unready, remarks, log}: Needs): Koa => {
  const answers: Record<string, (ctx: Koa.Context) => Promise<void>> = {
    '/metrics': async ctx => {
      const {contentType, text} = await metrics.expose(source);
      ctx.set('Content-Type', contentType);
      ctx.body = text;
    },
    '/healthz': async ctx => {
      ctx.body = 'ok\n';
    },
    '/readyz': async ctx => {
      const reasons = await unready();
      ctx.status = reasons.length === 0 ? 200 : 503;
      ctx.body = `${[...(reasons.length === 0 ? ['ready'] : reasons), ...remarks()].join('\n')}\n`;
    },
  };

  const app = new Koa();
  app.use(async ctx => {
    const answer = Object.hasOwn(answers, ctx.path) ? answers[ctx.path] : undefined;
    if (!answer) return;
    if (ctx.method === 'GET' || ctx.method === 'HEAD') await answer(ctx);
    else {
      ctx.set('Allow', 'GET, HEAD');
      ctx.status = 405;
    }
  });
  app.on('error', error => log.warn({err: error as Error}, 'metrics request failed'));
  return app;
};
