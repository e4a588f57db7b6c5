// Digests on their way to a real mail server: what each answer means for the digest.
import test, {type ExecutionContext} from 'ava';
import {createBackendPool} from '../../../daemon/mail/backend/backend-pool.ts';
import {createDeliver, type DeliverNeeds} from '../../../daemon/mail/backend/deliver.ts';
import {createDigestTransport} from '../../../daemon/mail/digest-mail.ts';
import type {DigestMail, DigestResult} from '../../../daemon/services/recipients/digest-model.ts';
import {settingsOf} from '../../../daemon/services/recipients/digest-settings.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import {closedPort} from '../../helpers/ports.ts';
import {type SinkOptions, startSmtpSink} from '../../helpers/smtp-sink.ts';

const domain = {name: 'one.test'} as Domain;
const ann = 'ann@one.test';
const later = {code: 450, text: '4.2.1 later'};
const never = {code: 550, text: '5.1.1 unknown'};

interface Sending {
  servers?: HostPort[];
  /** Whether there is an address for links. */
  isLinked?: boolean;
  address?: string;
  sign?: DeliverNeeds['sign'];
}

const sendTo = async (t: ExecutionContext, {servers, address = ann, isLinked = true, sign}: Sending): Promise<DigestResult> => {
  const pool = createBackendPool({hostname: 'gate.test'});
  t.teardown(() => pool.close());
  const transport = createDigestTransport({
    deliver: createDeliver({pool, ...(sign && {sign})}).deliver,
    routeTo: () => servers && {servers},
    signFor: () => (sign ? domain : undefined),
    from: () => undefined,
    pagesUrl: () => (isLinked ? 'https://mail.one.test' : undefined),
  });
  const mail: DigestMail = {
    ...{mailbox: address, address, token: '1-A', digest_id: 'AbC', others: 0, action: 'release'},
    ...{sender: 'a@shop.test', from: ['a@shop.test'], subject: 'Sale', reason: 'spam', arrived_at: '2026-03-01T05:00:00.000Z'},
  };
  const digest = {mailbox: address, mails: [mail], others: 0, due_at: '2026-03-01T07:00:00.000Z', id: 'AbC'};
  return transport.send(domain, settingsOf(undefined), digest);
};

/** To a mail server that behaves like this. */
const sent = async (t: ExecutionContext, options: SinkOptions, sending: Sending = {}) => {
  const sink = await startSmtpSink(t, options);
  return {result: await sendTo(t, {...sending, servers: [sink.server]}), sink};
};

test('a digest that the server takes is sent, from the empty sender', async t => {
  const {result, sink} = await sent(t, {});

  t.is(result.state, 'sent');
  t.like(sink.mails, [{sender: '', recipients: [ann]}]);
});

test('5xx to the sender, the recipient or the content is a refusal', async t => {
  for (const options of [{senders: {'': never}}, {recipients: {[ann]: never}}, {final: never}]) {
    // Its texts are no reason to refuse a recipient.
    const bareFor = 'final' in options ? {bareFor: '550 5.1.1 unknown'} : {};
    t.deepEqual((await sent(t, options)).result, {state: 'refused', detail: '550 5.1.1 unknown', ...bareFor});
  }
});

test('a digest that is refused for its texts is sent without them', async t => {
  const {result, sink} = await sent(t, {final: content => (content.includes('Sale') ? never : undefined)});

  t.like(result, {state: 'sent', bareFor: '550 5.1.1 unknown'});
  const [mail] = sink.mails;
  t.regex(`${mail?.content}`, /\(your mail server refuses to show it\)/);
  t.regex(`${mail?.content}`, /\/m\/1-A/);
  t.notRegex(`${mail?.content}`, /Sale|shop\.test/);
});

test('4xx lets the digest wait, and does not speak against the next mailbox', async t => {
  for (const options of [{senders: {'': later}}, {recipients: {[ann]: later}}, {final: later}])
    t.deepEqual((await sent(t, options)).result, {state: 'waiting', detail: '450 4.2.1 later', hasServer: true});
});

test('a digest may have been delivered when the connection breaks after its bytes', async t => {
  for (const drop of ['within-data', 'after-final-dot'] as const) t.is((await sent(t, {drop})).result.state, 'unknown', drop);
});

test('where no server answers, there is no backend or no address for links, the digest waits, and so does the next mailbox', async t => {
  const dead = await sendTo(t, {servers: [await closedPort()]});
  const homeless = await sendTo(t, {});
  const {result: unlinked, sink} = await sent(t, {}, {isLinked: false});

  t.like(dead, {state: 'waiting', hasServer: false});
  t.regex(dead.detail, /^451 4\.4\.1 No mail server of this domain can be reached/);
  t.deepEqual(homeless, {state: 'waiting', detail: 'the domain has no backend', hasServer: false});
  t.deepEqual(unlinked, {state: 'waiting', detail: 'recipients.url is not set in mfd.yaml', hasServer: false});
  t.is(sink.connectionCount(), 0);
});

test('a digest that cannot be signed waits, and no server sees it', async t => {
  const {result, sink} = await sent(t, {}, {sign: async () => Promise.reject(new Error('no key'))});

  t.deepEqual(result, {state: 'waiting', detail: 'no key', hasServer: false});
  t.is(sink.connectionCount(), 0);
});

test('a mailbox that needs SMTPUTF8 gets its digest where the server has it, and is refused where not', async t => {
  const address = 'jürgen@one.test';
  const {result: taken, sink} = await sent(t, {}, {address});
  const {result: refused} = await sent(t, {hasUtf8: false}, {address});

  t.is(taken.state, 'sent');
  t.like(sink.mails, [{recipients: [address], isUtf8: true}]);
  t.deepEqual(refused, {
    state: 'refused',
    detail: '550 5.6.7 The mail server of the recipient does not support SMTPUTF8',
  });
});
