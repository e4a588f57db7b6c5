// The programs of Postfix that a hold queue needs (postqueue(1), postsuper(1), postcat(1), postconf(1)).
// postqueue is for everybody; postsuper and postcat are root's, and run directly, by sudo, or by the helper.
import {buffer, text} from 'node:stream/consumers';
import {Fault} from '../../../shared/fault.ts';
import {queueIdPattern} from '../../../shared/fields.ts';
import {holdFile, layoutParameters, queueLayout} from './hold-file.ts';
import {type QueuedMail, queuedMails} from './postqueue.ts';
import {runAsHelper} from './run-as-helper.ts';
import {CutOff, type Ran, type Running, runProgram} from './run-program.ts';

export type QueueVerb = 'release' | 'requeue' | 'discard';

export interface PostfixPrograms {
  /** Everything in Postfix's queues, from one look at them. */
  queue(): AsyncIterable<QueuedMail>;
  /**
   * Does it to all of `ids` that are on hold, in one call; resolves with those. Rejects with a PostfixRefusal, which names those it
   * was done to all the same, where others may still be on hold.
   */
  change(verb: QueueVerb, ids: string[]): Promise<Set<string>>;
  /** Has Postfix try to deliver a mail that is not on hold (any more) now. */
  flush(id: string): Promise<void>;
  /** What postcat says of the envelopes and headers of mails on hold, up to the first that is not there. */
  headers(ids: string[]): Promise<string>;
  /** Headers and body of a mail on hold as Postfix has them, lines ending in LF. `ended` resolves with status 0 when that was all. */
  body(id: string): Promise<Running>;
  /** The value of a parameter of main.cf. */
  parameter(name: string): Promise<string>;
}

export interface PostfixProgramsNeeds {
  configDir: string;
  /** Socket of the helper; without it root runs the programs itself, and everybody else by sudo. */
  helperSocket?: string | undefined;
  isRoot?: boolean;
}

const folder = '/usr/sbin';
const defaultConfigDir = '/etc/postfix';
const timeoutMs = 60_000;

const superArgs: Record<QueueVerb, string> = {release: '-H', requeue: '-r', discard: '-d'};

export const createPostfixPrograms = ({
  configDir,
  helperSocket,
  isRoot = process.getuid?.() === 0,
}: PostfixProgramsNeeds): PostfixPrograms => {
  // The lines for sudo name the usual folder by not naming one.
  const config = configDir === defaultConfigDir ? [] : ['-c', configDir];
  const own = (name: string, args: string[]) => runProgram({file: `${folder}/${name}`, args: [...config, ...args]}, timeoutMs);

  const asRoot = (name: string, args: string[], {verb, ids}: {verb: string; ids: string[]}): Running => {
    if (!ids.every(id => queueIdPattern.test(id))) throw new Error('no queue id');
    const lines = ids.map(id => `${id}\n`).join('');
    if (helperSocket !== undefined) return runAsHelper(helperSocket, `${verb}\n${lines}`, timeoutMs);
    const input = name === 'postsuper' ? lines : '';
    const file = `${folder}/${name}`;
    const all = [...config, ...args];
    return isRoot ? runProgram({file, args: all, input}, timeoutMs) : runProgram(bySudo(file, all, input), timeoutMs);
  };

  const parameters = async (names: readonly string[]): Promise<string[]> => {
    const {stdout, ended} = own('postconf', ['-xh', ...names]);
    const [said] = await Promise.all([text(stdout), insist(ended, 'postconf')]);
    return said.split('\n').map(line => line.trim());
  };

  /** The helper looks for the files itself. An operator may change where they are at any time. */
  const postcat = async (flags: string, {verb, ids}: {verb: string; ids: string[]}): Promise<Running> => {
    const layout = helperSocket === undefined ? queueLayout(await parameters(layoutParameters)) : undefined;
    return asRoot('postcat', [flags, ...ids.map(id => (layout ? holdFile(layout, id) : id))], {verb, ids});
  };

  const refusedAsRoot = (name: string, ran: Ran, done?: ReadonlySet<string>) =>
    new PostfixRefusal(name, ran, {remedy: rightMissing(helperSocket), ...(done && {done})});

  return {
    async *queue() {
      const {stdout, ended} = own('postqueue', ['-j']);
      try {
        yield* queuedMails(stdout);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') await insist(ended, 'postqueue');
        throw error;
      } finally {
        stdout.destroy();
      }
      await insist(ended, 'postqueue');
    },

    async change(verb, ids) {
      const {stdout, ended} = asRoot('postsuper', [superArgs[verb], '-', 'hold'], {verb, ids});
      const [said, ran] = await Promise.all([readable(text(stdout), ''), settled(ended)]);
      const all = `${ran.stderr}${said}`;
      const changed = changedIds(`${said}\n${ran.stderr}`);
      // It says of each what it did, and nothing of those that are not there; but it may end, or be ended, before it has come to all.
      const hasTriedAll = ran.code === 0 && !unableTo.test(all);
      if (changed.size < ids.length && !hasTriedAll) throw refusedAsRoot('postsuper', {...ran, stderr: all}, changed);
      return changed;
    },

    async flush(id) {
      const {stdout, ended} = own('postqueue', ['-i', id]);
      stdout.resume();
      await insist(ended, 'postqueue');
    },

    async headers(ids) {
      const {stdout, ended} = await postcat('-eh', {verb: 'headers', ids});
      const [said, ran] = await Promise.all([readable(buffer(stdout), Buffer.alloc(0)), settled(ended)]);
      if (ran.code !== 0 && said.length === 0 && !isMissing(ran)) throw refusedAsRoot('postcat', ran);
      return said.toString('latin1');
    },

    body: async id => postcat('-bh', {verb: 'body', ids: [id]}),

    async parameter(name) {
      const [value = ''] = await parameters([name]);
      return value;
    },
  };
};

/** -n: it never asks for a password. */
const bySudo = (file: string, args: string[], input: string) => ({file: '/usr/bin/sudo', args: ['-n', file, ...args], input});

/** A program that could not even be started is one that failed. */
const settled = async (ended: Promise<Ran>): Promise<Ran & {cutOff?: string}> =>
  ended.catch((error: Error) =>
    error instanceof CutOff ? {code: 127, stderr: error.stderr, cutOff: error.message} : {code: 127, stderr: error.message},
  );

/** What it says breaks off when it fails, which `ended` has to say. */
const readable = async <T>(said: Promise<T>, nothing: T): Promise<T> => said.catch(() => nothing);

const insist = async (ended: Promise<Ran>, name: string): Promise<void> => {
  const ran = await settled(ended);
  if (ran.code !== 0) throw new PostfixRefusal(name, ran, {remedy: queueUnreadable});
};

/** The helper keeps what postcat says of its errors to its own log. */
const isMissing = ({code, stderr}: Ran): boolean =>
  code === 1 && (stderr === '' || /: open .*: No such file or directory/.test(stderr));

const changedIds = (said: string): Set<string> =>
  new Set(
    [...said.matchAll(/^\S*postsuper: ([0-9A-Za-z]+): (?:released from hold|requeued|removed)$/gm)].map(([, id = '']) => id),
  );

/** As of a file that it may not remove. */
const unableTo = /^\S*postsuper: warning: (?:remove|rename|requeue) /m;

interface Circumstances {
  remedy: string;
  done?: ReadonlySet<string>;
}

/** A caller is told whom to ask; what the program said, and what helps, is for the log of the node. */
export class PostfixRefusal extends Fault {
  /** What it was asked to do and did all the same. */
  readonly done: ReadonlySet<string>;

  constructor(program: string, {code, stderr, cutOff}: Ran & {cutOff?: string}, {remedy, done = new Set()}: Circumstances) {
    const trouble = stderr.split('\n').filter(line => line.trim() !== '' && changedIds(line).size === 0);
    const said = (cutOff ?? trouble[0]?.trim() ?? '').slice(0, 300);
    const isForbidden = /^sudo:|reserved for the superuser|Permission denied|EACCES|ENOENT|ECONNREFUSED|exit status 64/.test(
      said,
    );
    const cause = new Error(`${program} ended with status ${code}: ${said}${isForbidden ? `; ${remedy}` : ''}`);
    if (cutOff === undefined) super('unavailable', nothingDone, {cause, retryAfterSeconds: 30});
    else super('outcome_unknown', mayBeDone, {cause});
    this.done = done;
  }
}

const nothingDone = 'Postfix’s queue could not be used; the log of this node says why. Nothing was done';
const mayBeDone =
  'Postfix did not say in time what became of it; the log of this node says why. GET /mail/quarantine shows in a minute whether the mail is still held';

/** What to do about a program that is root's. */
const rightMissing = (helperSocket: string | undefined): string =>
  helperSocket === undefined
    ? 'mfd may not run it as root: install its file sudoers as /etc/sudoers.d/mfd, or set postfix.helper_socket (see man mfd)'
    : `nobody runs it as root at ${helperSocket}: systemctl start mfd-postfix.socket, or see postfix.helper_socket (man mfd)`;

const queueUnreadable = 'the user of mfd has to be in the group postdrop, and Postfix installed (see man mfd)';
