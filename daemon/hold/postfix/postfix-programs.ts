// Programs of Postfix that a hold queue needs (postqueue(1), postsuper(1), postcat(1), postconf(1)). Every user may run
// postqueue. postsuper and postcat need root; they are run directly, by sudo, or by the helper.
import {buffer, text} from 'node:stream/consumers';
import {Fault} from '../../../shared/fault.ts';
import {queueIdPattern} from '../../../shared/fields.ts';
import {holdFile, layoutParameters, queueLayout} from './hold-file.ts';
import {type QueuedMail, queuedMails} from './postqueue.ts';
import {CutOff, type ProgramResult, type Running, runAsHelper, runProgram} from './run-program.ts';
export type QueueVerb = 'release' | 'requeue' | 'discard';

export interface PostfixPrograms {
  /** All mails in Postfix's queues, from one run of postqueue. */
  queue(): AsyncIterable<QueuedMail>;
  /**
   * Changes all of `ids` that are on hold, in one call, and resolves with those. When others may still be on hold it rejects with
   * a PostfixRefusal, which contains the ids that were changed nevertheless.
   */
  change(verb: QueueVerb, ids: string[]): Promise<Set<string>>;
  /** Asks Postfix to deliver a mail now that is not on hold (any more). */
  flush(id: string): Promise<void>;
  /** The output of postcat for the envelopes and headers of mails on hold, up to the first mail that is missing. */
  headers(ids: string[]): Promise<string>;
  /**
   * Headers and body of a mail on hold as Postfix stores them, lines ending in LF. `ended` resolves with status 0 if the output
   * is complete.
   */
  body(id: string): Promise<Running>;
  /** The value of a parameter of main.cf. */
  parameter(name: string): Promise<string>;
}

export interface PostfixProgramsNeeds {
  configDir: string;
  /** Socket of the helper. Without it root runs the programs directly, and any other user runs them by sudo. */
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
  // The sudoers lines have no `-c` option for the default folder.
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
    const [output] = await Promise.all([text(stdout), requireSuccess(ended, 'postconf')]);
    return output.split('\n').map(line => line.trim());
  };

  /** The helper finds the files itself. An operator may change the layout at any time. */
  const postcat = async (flags: string, {verb, ids}: {verb: string; ids: string[]}): Promise<Running> => {
    const layout = helperSocket === undefined ? queueLayout(await parameters(layoutParameters)) : undefined;
    return asRoot('postcat', [flags, ...ids.map(id => (layout ? holdFile(layout, id) : id))], {verb, ids});
  };

  const refusedAsRoot = (name: string, ran: ProgramResult, done?: ReadonlySet<string>) =>
    new PostfixRefusal(name, ran, {remedy: rightMissing(helperSocket), ...(done && {done})});

  return {
    async *queue() {
      const {stdout, ended} = own('postqueue', ['-j']);
      try {
        yield* queuedMails(stdout);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') await requireSuccess(ended, 'postqueue');
        throw error;
      } finally {
        stdout.destroy();
      }
      await requireSuccess(ended, 'postqueue');
    },

    async change(verb, ids) {
      const {stdout, ended} = asRoot('postsuper', [superArgs[verb], '-', 'hold'], {verb, ids});
      const [output, ran] = await Promise.all([readable(text(stdout), ''), settled(ended)]);
      const all = `${ran.stderr}${output}`;
      const changed = changedIds(`${output}\n${ran.stderr}`);
      // postsuper reports each change and does not mention missing mails, but it may stop or be killed before it has tried all
      // ids.
      const hasTriedAll = ran.code === 0 && !unableTo.test(all);
      if (changed.size < ids.length && !hasTriedAll) throw refusedAsRoot('postsuper', {...ran, stderr: all}, changed);
      return changed;
    },

    async flush(id) {
      const {stdout, ended} = own('postqueue', ['-i', id]);
      stdout.resume();
      await requireSuccess(ended, 'postqueue');
    },

    async headers(ids) {
      const {stdout, ended} = await postcat('-eh', {verb: 'headers', ids});
      const [output, ran] = await Promise.all([readable(buffer(stdout), Buffer.alloc(0)), settled(ended)]);
      if (ran.code !== 0 && output.length === 0 && !isMissing(ran)) throw refusedAsRoot('postcat', ran);
      return output.toString('latin1');
    },

    body: async id => postcat('-bh', {verb: 'body', ids: [id]}),

    async parameter(name) {
      const [value = ''] = await parameters([name]);
      return value;
    },
  };
};

/** -n: never ask for a password. */
const bySudo = (file: string, args: string[], input: string) => ({file: '/usr/bin/sudo', args: ['-n', file, ...args], input});

/** A program that could not be started counts as failed. */
const settled = async (ended: Promise<ProgramResult>): Promise<ProgramResult & {cutOff?: string}> =>
  ended.catch((error: Error) =>
    error instanceof CutOff ? {code: 127, stderr: error.stderr, cutOff: error.message} : {code: 127, stderr: error.message},
  );

/** The output is incomplete if the program fails; `ended` reports that. */
const readable = async <T>(output: Promise<T>, nothing: T): Promise<T> => output.catch(() => nothing);

const requireSuccess = async (ended: Promise<ProgramResult>, name: string): Promise<void> => {
  const ran = await settled(ended);
  if (ran.code !== 0) throw new PostfixRefusal(name, ran, {remedy: queueUnreadable});
};

/** The helper writes the errors of postcat to its own log only. */
const isMissing = ({code, stderr}: ProgramResult): boolean =>
  code === 1 && (stderr === '' || /: open .*: No such file or directory/.test(stderr));

const changedIds = (output: string): Set<string> =>
  new Set(
    [...output.matchAll(/^\S*postsuper: ([0-9A-Za-z]+): (?:released from hold|requeued|removed)$/gm)].map(([, id = '']) => id),
  );

/** For example a file that it may not remove. */
const unableTo = /^\S*postsuper: warning: (?:remove|rename|requeue) /m;

interface RefusalDetails {
  remedy: string;
  done?: ReadonlySet<string>;
}

/** The caller gets advice; the output of the program and the remedy go to the log of the node. */
export class PostfixRefusal extends Fault {
  /** The ids that were changed nevertheless. */
  readonly done: ReadonlySet<string>;

  constructor(
    program: string,
    {code, stderr, cutOff}: ProgramResult & {cutOff?: string},
    {remedy, done = new Set()}: RefusalDetails,
  ) {
    const trouble = stderr.split('\n').filter(line => line.trim() !== '' && changedIds(line).size === 0);
    const reason = (cutOff ?? trouble[0]?.trim() ?? '').slice(0, 300);
    const isForbidden = /^sudo:|reserved for the superuser|Permission denied|EACCES|ENOENT|ECONNREFUSED|exit status 64/.test(
      reason,
    );
    const cause = new Error(`${program} ended with status ${code}: ${reason}${isForbidden ? `; ${remedy}` : ''}`);
    if (cutOff === undefined) super('unavailable', nothingDone, {cause, retryAfterSeconds: 30});
    else super('outcome_unknown', mayBeDone, {cause});
    this.done = done;
  }
}

const nothingDone = 'Postfix’s queue could not be used; the log of this node says why. Nothing was done';
const mayBeDone =
  'Postfix did not say in time what became of it; the log of this node says why. GET /mail/quarantine shows in a minute whether the mail is still held';

/** The remedy for a program that needs root. */
const rightMissing = (helperSocket: string | undefined): string =>
  helperSocket === undefined
    ? 'mfd may not run it as root: install its file sudoers as /etc/sudoers.d/mfd, or set postfix.helper_socket (see man mfd)'
    : `nobody runs it as root at ${helperSocket}: systemctl start mfd-postfix.socket, or see postfix.helper_socket (man mfd)`;

const queueUnreadable = 'the user of mfd has to be in the group postdrop, and Postfix installed (see man mfd)';
