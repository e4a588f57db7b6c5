// The scorer with a real Rspamd.
import test, {type ExecutionContext} from 'ava';
import {createRspamdScorer} from '../../../../daemon/mail/scan/rspamd-scorer.ts';
import {parseHostPort} from '../../../../shared/host-port.ts';
import {receivedMail, sample} from '../../../helpers/received-mail.ts';
import {demandingRules, isRspamdInstalled, startRspamd} from '../../../helpers/rspamd.ts';
import {startProxy} from '../../../helpers/tcp-proxy.ts';

const withRspamd = isRspamdInstalled() ? test.serial : test.serial.skip;

const scorerOf = (t: ExecutionContext, url: string) => {
  const scorer = createRspamdScorer({url, timeoutMs: 20_000});
  t.teardown(scorer.close);
  return scorer;
};

withRspamd('[Rspamd] it judges the samples, each asked for once', async t => {
  const url = await startRspamd(t);
  const proxy = await startProxy(t, () => parseHostPort(new URL(url).host));
  const scorer = scorerOf(t, `http://127.0.0.1:${proxy.port}`);

  const trial = await scorer.score(receivedMail({bytes: sample('gtube.eml')}));
  const phishing = await scorer.score(receivedMail({bytes: sample('phishing.eml')}));
  const plain = await scorer.score(
    receivedMail({client: {helo: 'bücher.example'}, envelope: {sender: 'zoë@example.net', isUtf8: true}}),
  );

  t.deepEqual(trial, {score: 15, symbols: [{name: 'GTUBE', score: 0}], reason: 'spam'});
  t.is(phishing.reason, 'phishing');
  t.true(phishing.symbols.some(symbol => symbol.name === 'PHISHING' && symbol.score > 0));
  t.is(plain.reason, 'spam');
  t.true(plain.symbols.length > 0 && plain.score < 15);
  // 3.4 closes after each answer and announces that: one connection for each mail, and no failed one that was retried.
  t.true(proxy.counts.connections <= 3, String(proxy.counts.connections));
});

/** A symbol for each property of the mail that Rspamd was given. */
const seeing = `
local function first(list) return list and list[1] and list[1].addr end
local seen = {
  FROM = function(task) return first(task:get_from('smtp')) == 'ada@example.net' end,
  RCPT = function(task)
    local to = task:get_recipients('smtp') or {}
    return #to == 2 and to[1].addr == 'ben@example.com' and to[2].addr == 'zoe@example.com'
  end,
  IP = function(task) return tostring(task:get_from_ip()) == '2001:db8::5' end,
  HELO = function(task) return task:get_helo() == 'helo.example.net' end,
  HOSTNAME = function(task) return task:get_hostname() == 'ptr.example.net' end,
  QUEUE = function(task) return task:get_queue_id() == 'Q1w2E3r4T5' end,
  USER = function(task) return task:get_user() == 'ada' end,
}
for name, is_seen in pairs(seen) do
  rspamd_config:register_symbol({name = 'SEEN_' .. name, type = 'normal', score = 0.1, callback = is_seen})
end
`;

withRspamd('[Rspamd] it knows who sends what to whom', async t => {
  const scorer = scorerOf(t, await startRspamd(t, {rules: seeing}));

  const {symbols} = await scorer.score(
    receivedMail({
      client: {ip: '2001:db8::5', helo: 'helo.example.net', hostname: 'ptr.example.net', user: 'ada'},
      envelope: {recipients: ['ben@example.com', 'zoe@example.com']},
    }),
  );

  const seen = symbols.map(({name}) => name).filter(name => name.startsWith('SEEN_'));
  t.deepEqual(
    seen.toSorted(),
    ['FROM', 'HELO', 'HOSTNAME', 'IP', 'QUEUE', 'RCPT', 'USER'].map(name => `SEEN_${name}`),
  );
});

withRspamd('[Rspamd] a client that is listed in DNS is the reason for its score', async t => {
  const listed = '5.2.0.192.';
  const addressOf = (name: string) => (name.startsWith(listed) && name.includes('spamhaus') ? '127.0.0.2' : undefined);
  const scorer = scorerOf(t, await startRspamd(t, {addressOf}));

  const {symbols, reason} = await scorer.score(receivedMail());

  t.true(
    symbols.some(({name, score}) => name.includes('RBL_SPAMHAUS') && score > 0),
    JSON.stringify(symbols),
  );
  t.is(reason, 'rbl', JSON.stringify(symbols));
});

withRspamd('[Rspamd] what its rules demand is followed where the score does not tell of it', async t => {
  const scorer = scorerOf(t, await startRspamd(t, {rules: demandingRules}));
  const demanded = async (subject: string) => {
    const bytes = Buffer.from(
      sample('plain.eml')
        .toString('latin1')
        .replace(/^Subject: .*$/m, `Subject: ${subject}`),
      'latin1',
    );
    const {score, wantsRetry = false, symbols} = await scorer.score(receivedMail({bytes}));
    return {score, wantsRetry, symbols: symbols.map(({name}) => name)};
  };

  t.deepEqual(await demanded('reject'), {score: 15, wantsRetry: false, symbols: ['DEMANDS_REJECT']});
  t.deepEqual(await demanded('soft reject'), {score: 1.5, wantsRetry: true, symbols: ['DEMANDS_SOFT_REJECT']});
  t.deepEqual(await demanded('greylist'), {score: 1.5, wantsRetry: false, symbols: ['DEMANDS_GREYLIST']});
  t.deepEqual(await demanded('no action'), {score: 1.5, wantsRetry: false, symbols: ['DEMANDS_NO_ACTION']});
});
