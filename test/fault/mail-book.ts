// The held mail of a cluster as clients know it: which node acknowledged it, which action was requested, and whether a list is
// complete or says that it is not.
import type {ApiAnswer} from '../helpers/api-call.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import type {SmtpSink} from '../helpers/smtp-sink.ts';
import {createLedger, type HeldFound} from './ledger.ts';

/** The nodes that a node cannot reach at the moment; `version` changes whenever they do. */
export interface Cuts {
  version(): number;
  /** Nodes that `from` cannot reach, in order. */
  of(from: string): string[];
}

export interface BookedMail {
  token: string;
  node_id: string;
  queue_id: string;
  /** Milliseconds of a monotonic clock. */
  acceptedAt: number;
  /** The first requested action, and when it was requested. */
  asked?: 'release' | 'discard';
  askedAt?: number;
  endedAt?: number;
  /** An action was requested that may have been done. */
  isDoubtful: boolean;
}

export interface MailBook {
  /** Sends a mail that `node` holds, or is too busy to take; resolves with the time that it took. */
  hold(node: ClusterNode, token: string): Promise<number>;
  readonly mails: readonly BookedMail[];
  act(by: ClusterNode, action: 'release' | 'discard', mail: BookedMail): Promise<ApiAnswer>;
  /** Requests the list, narrowed by `query`, and compares it with the known mails. */
  list(by: ClusterNode, query?: string): Promise<ListSeen>;
  /** The final check: nothing lost, nothing doubled. */
  judge(by: ClusterNode): Promise<string[]>;
  readonly counts: {
    held: number;
    deferred: number;
    lists: number;
    partial: number;
    needlessly: number;
    acts: number;
    unknown: number;
  };
}

interface ListSeen {
  answer: ApiAnswer;
  ms: number;
  /** Nodes that it names as missing. */
  named: string[];
  faults: string[];
}

interface Needs {
  key: string;
  domain: string;
  sink: SmtpSink;
  cuts: Cuts;
}

export const createMailBook = ({key, domain, sink, cuts}: Needs): MailBook => {
  const ledger = createLedger();
  const mails: BookedMail[] = [];
  /**
   * Mails that come or go at the moment, and how often that has changed: the rows and their count may then differ by one mail.
   */
  let moving = 0;
  let moves = 0;
  const move = (by: 1 | -1) => {
    moving += by;
    moves += 1;
  };
  const counts = {held: 0, deferred: 0, lists: 0, partial: 0, needlessly: 0, acts: 0, unknown: 0};

  const list: MailBook['list'] = async (by, query = '') => {
    const version = cuts.version();
    const movesBefore = moving === 0 ? moves : -1;
    const from = performance.now();
    const answer = await by.api('GET', `mail/quarantine?limit=1000&${query}`, {key});
    const to = performance.now();
    const named = namedIn(answer);
    const node = /node=([^&]+)/.exec(query)?.[1];
    const cut = cuts.of(by.node_id).filter(one => node === undefined || one === node);
    const isStable = version === cuts.version();
    counts.lists += 1;
    counts.partial += Number(named.length > 0);
    counts.needlessly += Number(isStable && named.some(one => !cut.includes(one)));
    const known = mails.filter(({node_id}) => node === undefined || node_id === node);
    const faults = [
      ...incompleteness(answer, known, {from, to, named, isStill: movesBefore === moves}),
      ...(isStable ? cut.filter(one => !named.includes(one)).map(one => `does not say that ${one} is missing`) : []),
    ];
    return {answer, ms: to - from, named, faults: faults.map(fault => `a list of ${by.node_id} ${fault}`)};
  };

  return {
    mails,
    counts,
    list,

    async hold(node, token) {
      const raw = `Subject: ${token}\r\nMessage-ID: <${token}@outside.test>\r\nX-Spam-Score: 8\r\n\r\nbody\r\n`;
      ledger.sending({token, raw});
      const from = performance.now();
      const mail = {port: node.smtpPort, from: 'sender@outside.test', to: `someone@${domain}`, raw};
      move(1);
      const {reply} = await sendMail(mail).finally(() => move(-1));
      const acceptedAt = performance.now();
      const queue_id = / queued as (\w+)$/.exec(reply.text)?.[1];
      if (reply.code >= 400 && reply.code < 500) {
        counts.deferred += 1;
        return acceptedAt - from;
      }
      if (!queue_id) throw new Error(`${node.node_id} did not hold ${token}: ${reply.code} ${reply.text}`);
      if (mails.some(mail => mail.queue_id === queue_id)) throw new Error(`${queue_id} was given twice`);
      ledger.accepted(token, queue_id);
      mails.push({token, node_id: node.node_id, queue_id, acceptedAt, isDoubtful: false});
      counts.held += 1;
      return acceptedAt - from;
    },

    async act(by, action, mail) {
      mail.asked ??= action;
      mail.askedAt ??= performance.now();
      ledger.acting(mail.queue_id, action);
      move(1);
      const path = `mail/quarantine/${mail.node_id}/${mail.queue_id}/${action}`;
      const answer = await by.api('POST', path, {key}).finally(() => move(-1));
      counts.acts += 1;
      counts.unknown += Number(answer.status === 504);
      if (answer.status !== 503) mail.isDoubtful = true;
      if (answer.status === 200) {
        mail.endedAt ??= performance.now();
        ledger.acted(mail.queue_id, action);
      }
      return answer;
    },

    async judge(by) {
      const {answer, faults, named} = await list(by);
      const held: HeldFound[] = answer.json.data ?? [];
      const ids = new Set(held.map(({queue_id}) => queue_id));
      const taken = mails.filter(({askedAt, isDoubtful, queue_id}) => askedAt !== undefined && !isDoubtful && !ids.has(queue_id));
      return [
        ...faults,
        ...named.map(node => `${node} is missing from the last list`),
        ...taken.map(({queue_id}) => `${queue_id} is gone, though every answer was that nothing was done`),
        ...ledger.judge({held, delivered: sink.mails.map(tokenOf), values: new Map()}),
      ];
    },
  };
};

export const namedIn = ({headers}: ApiAnswer): string[] =>
  String(headers['x-unreachable-nodes'] ?? '')
    .split(/,\s*/)
    .filter(Boolean);

const tokenOf = ({content}: {content: Buffer}): string => /^Subject: (.*)\r$/m.exec(content.toString('latin1'))?.[1] ?? '';

interface Asked {
  from: number;
  to: number;
  named: string[];
  isStill: boolean;
}

/** Errors of a list compared with `known`: a mail that is missing, or was already gone, without a note in the answer. */
const incompleteness = ({status, json, headers}: ApiAnswer, known: BookedMail[], {from, to, named, isStill}: Asked): string[] => {
  if (status !== 200) return [`was answered ${status}`];
  const listed = new Set((json.data as {queue_id: string}[]).map(({queue_id}) => queue_id));
  const missing = known.filter(
    ({node_id, queue_id, acceptedAt, askedAt}) =>
      !named.includes(node_id) && acceptedAt < from && !(askedAt !== undefined && askedAt < to) && !listed.has(queue_id),
  );
  const gone = known.filter(({queue_id, endedAt}) => endedAt !== undefined && endedAt < from && listed.has(queue_id));
  return [
    ...missing.map(({queue_id, node_id}) => `lacks ${queue_id} of ${node_id} and does not say so`),
    ...gone.map(({queue_id}) => `has ${queue_id}, which had been acted on`),
    ...((json.message === 'Partial') === named.length > 0
      ? []
      : [`says ${json.message} and names ${named.join(', ') || 'nobody'}`]),
    ...(!isStill || Number(headers['x-total-count']) === listed.size
      ? []
      : [`has ${listed.size} mails and counts ${headers['x-total-count']}`]),
  ];
};
