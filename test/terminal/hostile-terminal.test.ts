// A hundred thousand hostile texts through every way in which mfctl prints them: the built program, on a real terminal. The
// output is judged by Unicode's own properties and by the terminal's cell widths, not by the tables of the program.
import {isDeepStrictEqual} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {parse} from 'yaml';
import type {HeldMail} from '../../shared/held-mail.ts';
import {parseCsv} from '../helpers/cli/csv-reader.ts';
import {hostileTexts} from '../helpers/cli/hostile-text.ts';
import {detail, domain, key, mail} from '../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../helpers/cli/scripted-api.ts';
import {mfctlFile} from '../helpers/program.ts';
import {hasScript, runInTerminal} from '../helpers/pseudo-terminal.ts';
import {hasTmux, measureInTerminal} from '../helpers/terminal-width.ts';

const batches = [1, 2, 3, 4];
const batchSize = 25_002;

const needsScript = '(needs script of util-linux)';
const onTerminal = hasScript ? test.serial : test.serial.skip;
const needsBoth = '(needs script of util-linux, and tmux)';
const onMeasuredTerminal = hasScript && hasTmux ? test.serial : test.serial.skip;

/** Placed before a text, it marks the start of its column; no text contains it. */
const post = '█';

const textsOf = (batch: number): string[] => hostileTexts(batchSize, batch).map(text => text.replaceAll(post, ''));

/** Three texts for each mail. */
const mailsOf = (texts: readonly string[], prefix = ''): HeldMail[] =>
  Array.from({length: Math.floor(texts.length / 3)}, (_, at) => {
    const [sender = '', recipient = '', subject = ''] = texts.slice(3 * at, 3 * at + 3).map(text => prefix + text);
    return {...mail, queue_id: String(at).padStart(6, '0'), sender, recipients: [recipient], subject, symbols: [subject]};
  });

interface Run {
  argv: string[];
  answers: Record<string, Reply>;
  columns?: number;
  code?: number;
}

/** The output at the terminal, with plain line ends and without colours. */
const outputOf = async (t: ExecutionContext, {argv, answers, columns = 200, code = 0}: Run): Promise<string> => {
  const api = await startApi(t, answers);
  const ran = await runInTerminal(mfctlFile, argv, {env: api.env, columns});

  t.is(ran.code, code, ran.output.toString().slice(-500));
  const text = new TextDecoder('utf-8', {fatal: true}).decode(ran.output);
  return text.replace(/\r+\n/g, '\n').replace(/\x1b\[(?:3[123]|39)m/g, '');
};

/** Rejects characters that Unicode classes as control, format, surrogate, private, unassigned, line separator, or ignorable. */
const assertHarmless = (t: ExecutionContext, text: string): void => {
  const found = /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.exec(text);
  t.is(found, null, found ? JSON.stringify(text.slice(Math.max(0, found.index - 30), found.index + 30)) : '');
};

/** Without lines that contain a character unknown to the terminal, which gives it no cell although it is not a mark. */
const known = async (lines: readonly string[]): Promise<string[]> => {
  const chars = [...new Set(lines.join(''))].filter(char => char > '~');
  const widths = await measureInTerminal(chars.map(char => `a${char}`));
  const marks = /[\p{Mn}\p{Me}\u1160-\u11ff\ud7b0-\ud7ff]/u;
  const unknown = new Set(chars.filter((char, at) => widths[at] === 1 && !marks.test(char)));
  return lines.filter(line => ![...line].some(char => unknown.has(char)));
};

/** By the terminal's measure, every post is below the title of its column, and no line is wider than the terminal. */
const assertAligned = async (
  t: ExecutionContext,
  text: string,
  {titles, maxWidth}: {titles: string[]; maxWidth: number},
): Promise<void> => {
  const [header = '', ...all] = text.trimEnd().split('\n');
  const starts = titles.map(title => header.indexOf(title));
  const lines = await known(all);
  const heads = lines.flatMap(line => titles.map((_, at) => line.split(post, at + 1).join(post)));
  const [headWidths, lineWidths] = [await measureInTerminal(heads, maxWidth + 2), await measureInTerminal(lines, maxWidth + 2)];

  t.true(lines.length > 0.7 * all.length, `${lines.length} of ${all.length} lines are in the terminal's own characters`);
  const shifted = heads.findIndex((_, at) => headWidths[at] !== starts[at % titles.length]);
  t.is(shifted, -1, `${headWidths[shifted]} cells, not ${starts[shifted % titles.length]}: ${JSON.stringify(heads[shifted])}`);
  t.true(lineWidths.every(width => width <= maxWidth));
};

for (const batch of batches) {
  onMeasuredTerminal(`a table stays a table whatever is in it, batch ${batch} ${needsBoth}`, async t => {
    const answers = {'GET /mail/quarantine': {data: mailsOf(textsOf(batch), post)}};

    const text = await outputOf(t, {argv: ['quarantine', 'list', '-q'], answers});

    assertHarmless(t, text);
    await assertAligned(t, text, {titles: ['SENDER', 'TO', 'SUBJECT'], maxWidth: 200});
  });

  onMeasuredTerminal(`so does a wide one, batch ${batch} ${needsBoth}`, async t => {
    const texts = textsOf(batch).map(text => text.slice(0, 60));
    const answers = {'GET /mail/quarantine': {data: mailsOf(texts, post)}};

    const text = await outputOf(t, {argv: ['quarantine', 'list', '-q', '-o', 'wide'], answers});

    assertHarmless(t, text);
    const [header = '', ...lines] = text.split('\n');
    const some = lines.filter((_, at) => at % 10 === 0);
    await assertAligned(t, [header, ...some].join('\n'), {titles: ['SENDER', 'TO', 'SUBJECT', 'SYMBOLS'], maxWidth: 600});
  });

  onMeasuredTerminal(`a mail that is shown stays within its labels, batch ${batch} ${needsBoth}`, async t => {
    const texts = textsOf(batch);
    const [subject = '', helo = '', sender = ''] = texts;
    const symbol_scores = texts.slice(0, batchSize / 2).map(name => ({name, score: 1}));
    const recipients = texts.slice(batchSize / 2);
    const headers = texts.slice(0, 2000).map(text => `X-Odd: ${text.replace(/[\r\n]/g, '').slice(0, 80)}\r\n`);
    const files = texts
      .slice(0, 200)
      .map(text => `--b\r\nContent-Type: x/y; name="${text.replace(/[\r\n"]/g, '')}"\r\n\r\nx\r\n`);
    const authentication = {
      spf: {result: 'pass', domain: texts[3]},
      dkim: texts.slice(4, 14).map(domain => ({result: 'pass', domain, selector: 's'})),
      dmarc: {result: 'fail', policy: 'reject', domain: texts[14]},
      arc: {result: 'none'},
    };
    const raw = `${headers.join('')}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${texts.slice(0, 40).join('\r\n')}\r\n${files.join('')}--b--\r\n`;

    const text = await outputOf(t, {
      argv: ['quarantine', 'show', 'mx1/aaaaaa'],
      answers: {
        'GET /mail/quarantine/mx1/aaaaaa': {
          data: {...detail, subject, helo, sender, from: recipients, recipients, symbol_scores, authentication},
        },
        'GET /mail/quarantine/mx1/aaaaaa/body': {raw},
        'GET /audit': {data: []},
      },
    });

    assertHarmless(t, text);
    const lines = text.split('\n');
    const labels = lines.filter(line => /^[^ ]/.test(line));
    t.deepEqual(
      labels.map(line => line.replace(/:.*/, '')),
      [
        ...['ID', 'Arrived', 'Score', 'Reason', 'Domain', 'Sender', 'From', 'Recipients', 'Subject', 'Client'],
        ...['Verified', 'Size', 'History', 'Headers', 'Symbols', 'Attachments', 'Text'],
      ],
    );
    // A wider line would wrap.
    const widths = await measureInTerminal(await known(lines));
    t.true(widths.every(width => width <= 200));
  });

  onTerminal(`an error says it and does nothing, batch ${batch} ${needsScript}`, async t => {
    const texts = textsOf(batch);
    const fields = Array.from({length: batchSize / 2}, (_, at) => ({path: texts[2 * at] ?? '', detail: texts[2 * at + 1] ?? ''}));
    const error = {code: 'validation_failed', detail: texts[0] ?? '', fields};

    const text = await outputOf(t, {
      argv: ['domain', 'create', 'example.com', '--backend', 'a.example:25'],
      answers: {'POST /domains': {status: 422, error}},
      code: 2,
    });

    assertHarmless(t, text);
    t.is(text.trimEnd().split('\n').length, fields.length + 2);
  });

  onTerminal(`JSON, YAML and CSV hold it all and can be looked at, batch ${batch} ${needsScript}`, async t => {
    const texts = textsOf(batch);
    const record = {...domain, backend_servers: texts};
    const mails = mailsOf(texts);
    const output = (argv: string[], format: string): Promise<string> =>
      outputOf(t, {
        argv: [...argv, '-q', '-o', format],
        answers: {'GET /domains/7': {data: record}, 'GET /mail/quarantine': {data: mails}},
      });

    const json = await output(['domain', 'get', '7'], 'json');
    const ndjson = await output(['quarantine', 'list'], 'ndjson');
    const yaml = await output(['domain', 'get', '7'], 'yaml');
    const csv = await output(['quarantine', 'list'], 'csv');

    for (const text of [json, ndjson, yaml, csv]) assertHarmless(t, text);
    t.true(isDeepStrictEqual(JSON.parse(json), record));
    t.true(isDeepStrictEqual(JSON.parse(`[${ndjson.trimEnd().replaceAll('\n', ',')}]`), mails));
    t.true(isDeepStrictEqual(parse(yaml), record));
    const [header = [], ...rows] = parseCsv(csv.replaceAll('\n', '\r\n'));
    t.is(rows.length, mails.length);
    t.true(rows.every(row => row.length === header.length));
    const texted = new Set(['sender', 'recipients', 'subject', 'symbols']);
    const formulas = rows
      .flat()
      .filter((cell, at) => texted.has(header[at % header.length] ?? '') && /^[\s"“”‘’]*[=+\-@＝＋－＠]/.test(cell));
    t.deepEqual(formulas, []);
  });

  onTerminal(`a name is a line, batch ${batch} ${needsScript}`, async t => {
    const data = textsOf(batch).map((name, id) => ({...domain, id, name}));

    const text = await outputOf(t, {argv: ['domain', 'list', '-q', '-o', 'name'], answers: {'GET /domains': {data}}});

    assertHarmless(t, text);
    t.is(text.split('\n').length, batchSize + 1);
  });
}

onMeasuredTerminal(`on forty columns nothing is wider than the terminal ${needsBoth}`, async t => {
  const texts = hostileTexts(6000, 40);

  const text = await outputOf(t, {
    argv: ['quarantine', 'list', '-q'],
    answers: {'GET /mail/quarantine': {data: mailsOf(texts)}},
    columns: 40,
  });

  assertHarmless(t, text);
  const widths = await measureInTerminal(await known(text.split('\n')), 80);
  t.true(widths.every(width => width <= 40));
  t.is(text.match(/^ID: /gm)?.length, 2000);
});

onTerminal(`a completion is a word and a line about it ${needsScript}`, async t => {
  const data = hostileTexts(200, 50).map((name, at) => ({...key, id: at + 1, name}));

  const text = await outputOf(t, {argv: ['__complete', '--', 'key', 'revoke', ''], answers: {'GET /auth/api-keys': {data}}});

  const lines = text.trimEnd().split('\n');
  assertHarmless(t, lines.map(line => line.replace('\t', ' ')).join('\n'));
  t.deepEqual(
    lines.map(line => line.split('\t')[0]),
    data.map(({id}) => String(id)),
  );
});
