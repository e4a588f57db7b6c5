import {createServer, type IncomingHttpHeaders, type RequestListener} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import {createRspamdClassifier, type RspamdClassifierOptions} from '../../../../daemon/mail/scan/rspamd-classifier.ts';
import type {Classifier} from '../../../../daemon/services/intake/mail.ts';
import {Fault} from '../../../../shared/fault.ts';
import type {Training, TrainingClass} from '../../../../shared/held-mail.ts';
import {listening} from '../../../helpers/listening.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {contentOf, sample} from '../../../helpers/received-mail.ts';
import {isRspamdInstalled, startTrainableRspamd} from '../../../helpers/rspamd.ts';

interface Asked {
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A server in the controller's place. */
const startController = async (t: ExecutionContext, answer: RequestListener, options: Partial<RspamdClassifierOptions> = {}) => {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray().catch(() => []);
    asked.push({url: request.url, headers: request.headers, body: Buffer.concat(chunks)});
    answer(request, response);
  });
  const url = `http://127.0.0.1:${await listening(t, server)}`;
  return {trainer: createRspamdClassifier({url, ...options}), asked};
};

const success: RequestListener = (_request, response) => response.end('{"success":true}');

const train = (trainer: Classifier, sampleClass: TrainingClass, bytes = sample('plain.eml')) =>
  trainer.train(sampleClass, {
    queueId: 'Q1w2E3r4T5',
    sender: 'ada@example.net\r\nPassword: x',
    recipients: ['ben@example.com', 'zoe@example.com'],
    content: contentOf(bytes),
  });

test('each training sample is a command of its own, with the envelope, the password and every byte', async t => {
  const {trainer, asked} = await startController(t, success, {password: 'sesame'});

  t.deepEqual(await train(trainer, 'ham'), {kind: 'learned'});
  t.deepEqual(await train(trainer, 'spam'), {kind: 'learned'});

  t.deepEqual(
    asked.map(({url}) => url),
    ['/learnham', '/learnspam'],
  );
  for (const {headers, body} of asked) {
    t.like(headers, {
      from: '<ada@example.net??Password: x>',
      rcpt: '<ben@example.com>, <zoe@example.com>',
      'queue-id': 'Q1w2E3r4T5',
      password: 'sesame',
    });
    t.deepEqual(body, sample('plain.eml'));
  }
});

test('what Rspamd has learned before, or has no use for, is no failure', async t => {
  const short = 'contains less tokens than required for bayes classifier: 3 < 11';
  const answers: [number, string, Training][] = [
    [208, '<a@b> has been already learned as spam, ignore it', 'learned_before'],
    [404, 'all learn conditions denied learning spam in default classifier', 'nothing_new'],
    [204, `<a@b> ${short}`, 'too_short'],
    [204, `<a ${short}@b> is skipped for bayes classifier: unknown reason`, 'nothing_new'],
    [204, 'No Content', 'nothing_new'],
  ];

  for (const [status, text, why] of answers) {
    const body = status === 204 ? '' : JSON.stringify({error: text});
    const {trainer} = await startController(t, (_request, response) => response.writeHead(status, text).end(body));
    t.deepEqual(await train(trainer, 'spam'), {kind: 'known', why}, text);
  }
});

test('every other answer is a refusal, told without the words of the mail', async t => {
  const answers: [number, string, RegExp][] = [
    [401, '{"error":"Unauthorized"}', /^HTTP status 401; check scanner\.rspamd_controller_password_file$/],
    [413, '', /^HTTP status 413; the mail is larger than it takes$/],
    [404, 'Not found', /^HTTP status 404; the log of Rspamd says why, and is its Redis up\?$/],
    [
      404,
      '{"error":"<a@b> has been already learned as ham, ignore it"}',
      /^HTTP status 404; it says that it has learned the mail before/,
    ],
    [404, '{"error":"<has been already learned as ham, ignore it> cannot be learned"}', /^HTTP status 404; the log/],
    [500, '{"success":true}', /^HTTP status 500/],
    [200, '{"error":"<secret@id> is odd"}', /^HTTP status 200/],
    [200, 'null', /^HTTP status 200/],
    [200, '', /^HTTP status 200/],
    [200, ' '.repeat(5 * 1024 * 1024), /^no usable answer$/],
  ];

  for (const [status, body, detail] of answers) {
    const {trainer} = await startController(t, (_request, response) => response.writeHead(status).end(body));
    const trained = await train(trainer, 'spam');
    t.is(trained.kind, 'refused', body.slice(0, 80));
    t.regex('detail' in trained ? trained.detail : '', detail);
  }
});

test('nobody there, a connection that breaks and one that hangs are silence, each asked once', async t => {
  const broken = await startController(t, request => request.socket.destroy());
  const hanging = await startController(t, (_request, response) => response.writeHead(200).write('{'), {timeoutMs: 200});
  const {host, port} = await closedPort();

  t.deepEqual(await train(createRspamdClassifier({url: `http://${host}:${port}`}), 'ham'), {
    kind: 'unreachable',
    detail: 'nothing listens there',
  });
  t.deepEqual(await train(broken.trainer, 'ham'), {kind: 'unreachable', detail: 'the connection broke'});
  t.deepEqual(await train(hanging.trainer, 'ham'), {kind: 'unreachable', detail: 'no answer within 200 ms'});

  t.deepEqual([broken.asked.length, hanging.asked.length], [1, 1]);
});

test('an address that is no http address is refused at once', t => {
  t.throws(() => createRspamdClassifier({url: 'https://rspamd.example.com'}), {instanceOf: Fault});
});

const withRspamd = isRspamdInstalled() ? test : test.skip;

// Rspamd can store its training in two ways: only Redis answers 208 for a known mail, files answer 404.
withRspamd('[Rspamd] it learns each mail once as what it is, and again when it was wrong', async t => {
  const {controllerUrl, password, trained} = await startTrainableRspamd(t);
  const trainer = createRspamdClassifier({url: controllerUrl, password});

  t.deepEqual(await train(trainer, 'ham'), {kind: 'learned'});
  t.like(await train(trainer, 'ham'), {kind: 'refused'});
  t.deepEqual(await train(trainer, 'spam', sample('phishing.eml')), {kind: 'learned'});
  t.deepEqual(await trained(), {ham: 1, spam: 1});
  t.deepEqual(await train(trainer, 'spam'), {kind: 'learned'});
  t.deepEqual(await train(trainer, 'spam', Buffer.from('Subject: short\r\n\r\nx\r\n')), {kind: 'known', why: 'too_short'});

  t.deepEqual(await trained(), {ham: 0, spam: 2});
  t.like(await train(createRspamdClassifier({url: controllerUrl, password: 'wrong'}), 'ham'), {kind: 'refused'});
  t.like(await train(createRspamdClassifier({url: controllerUrl}), 'ham'), {kind: 'refused'});
});
