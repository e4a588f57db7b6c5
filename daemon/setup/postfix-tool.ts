// Programs of Postfix, run without a shell on one configuration.
import {execFile} from 'node:child_process';
import {childEnvironment} from '../../shared/child-environment.ts';
import {SetupError} from './setup-error.ts';

/** A line of master.cf. */
export interface PostfixService {
  /** `NAME/TYPE`, such as `smtp/inet`. */
  name: string;
  program: string;
  isChrooted: boolean;
  /** Parameters that `-o` sets for this service. */
  overrides: Map<string, string>;
}

/** `value` null removes the setting, so that main.cf or the default applies. */
export type Edits = {name: string; value: string | null}[];

export interface PostfixTool {
  configDir: string;
  /** Settings in main.cf, each value on one line, with `$name` not replaced. */
  explicit(): Promise<Map<string, string>>;
  /** The effective value, with `$name` not replaced. */
  value(name: string): Promise<string>;
  /** The effective value, with `$name` replaced. */
  expanded(name: string): Promise<string>;
  edit(edits: Edits): Promise<void>;
  services(): Promise<PostfixService[]>;
  /** Names are `NAME/TYPE/PARAMETER`. */
  editServices(edits: Edits): Promise<void>;
  /** The error message of `postfix check`; undefined without errors. */
  complaint(): Promise<string | undefined>;
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export const openPostfix = (configDir: string): PostfixTool => {
  const mustRun = async (program: string, args: string[]): Promise<string> => {
    const {code, stdout, stderr} = await run(program, ['-c', configDir, ...args]);
    if (code !== 0)
      throw new SetupError(`${complaintIn(stderr) || `${program} failed with exit status ${code}`}${adviceOn(stderr)}`);
    return stdout;
  };
  const change = async (edits: Edits, [set, unset]: [string, string]): Promise<void> => {
    const toSet = edits.flatMap(({name, value}) => (value === null ? [] : [`${name}=${value}`]));
    const toRemove = edits.flatMap(({name, value}) => (value === null ? [name] : []));
    if (toSet.length > 0) await mustRun('postconf', [set, ...toSet]);
    if (toRemove.length > 0) await mustRun('postconf', [unset, ...toRemove]);
  };

  return {
    configDir,
    explicit: async () => settingsIn(await mustRun('postconf', ['-n'])),
    value: async name => (await mustRun('postconf', ['-h', name])).trimEnd(),
    expanded: async name => (await mustRun('postconf', ['-xh', name])).trim(),
    edit: async edits => change(edits, ['-e', '-X']),
    async services() {
      const overrides = settingsIn(await mustRun('postconf', ['-P']));
      return (await mustRun('postconf', ['-M'])).split('\n').flatMap(line => serviceIn(line, overrides));
    },
    editServices: async edits => change(edits, ['-Pe', '-PX']),
    async complaint() {
      const {code, stderr} = await run('postfix', ['-c', configDir, 'check']);
      if (code === 0) return undefined;
      // Without a terminal `postfix` writes errors to the mail log only. Other programs print errors of reading the configuration.
      const printed = await run('postmap', ['-c', configDir, '-q', 'x', 'static:x']);
      return complaintIn(stderr) || complaintIn(printed.stderr) || 'postfix check failed; the mail log says why';
    },
  };
};

const run = async (program: string, args: string[]): Promise<Ran> => {
  const {MAIL_CONFIG: _, ...environment} = process.env;
  const env = childEnvironment({...environment, LC_ALL: 'C', PATH: `${environment.PATH ?? ''}:/usr/sbin:/usr/local/sbin`});
  return new Promise((resolve, reject) => {
    execFile(program, args, {env, maxBuffer: 16 * 1024 * 1024}, (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') reject(new SetupError(`Postfix is not installed: there is no ${program}`));
      else resolve({code: error ? Number(error.code ?? 1) : 0, stdout, stderr});
    });
  });
};

/** Leaves out warnings, which concern all sorts of things, when there are other lines. */
const complaintIn = (stderr: string): string => {
  const lines = stderr.split('\n').filter(Boolean);
  const fatal = lines.filter(line => !line.includes(' warning: '));
  return (fatal.length > 0 ? fatal : lines).map(line => line.replace(/^\S*postconf: |^\S*postmap: /, '')).join('\n');
};

/** Debian's package leaves Postfix unconfigured after a non-interactive installation. */
const adviceOn = (stderr: string): string =>
  /open \S+\/main\.cf: No such file or directory/.test(stderr)
    ? '; configure Postfix first, on Debian with dpkg-reconfigure postfix, or correct --config-dir'
    : '';

const settingsIn = (stdout: string): Map<string, string> =>
  new Map(
    stdout.split('\n').flatMap(line => {
      const match = /^(\S+) =\s*(.*)$/.exec(line);
      return match ? [[match[1] ?? '', match[2] ?? ''] as const] : [];
    }),
  );

/** `name type private unpriv chroot wakeup maxproc command`, see master(5). */
const serviceIn = (line: string, overrides: Map<string, string>): PostfixService[] => {
  const [name, type, , , chroot, , , program] = line.split(/\s+/);
  if (name === undefined || type === undefined || program === undefined) return [];
  const prefix = `${name}/${type}/`;
  const own = [...overrides]
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, value]) => [key.slice(prefix.length), value] as const);
  return [{name: `${name}/${type}`, program, isChrooted: chroot === 'y', overrides: new Map(own)}];
};

interface Span {
  text: string;
  start: number;
  end: number;
}

export const listEntries = (value: string): string[] => spansOf(value).map(({text}) => text);

/** The subject of an entry: `unix:path` for `{ unix:path, default_action=accept }`. */
export const subjectOf = (entry: string): string =>
  entry.startsWith('{') && entry.endsWith('}') ? (listEntries(entry.slice(1, -1))[0] ?? '') : entry;

export const hasEntry = (value: string, entry: string): boolean => listEntries(value).includes(entry);

/** Adds the entry, and leaves the rest of the text unchanged. */
export const withEntry = (value: string, entry: string): string => {
  const kept = value.replace(/[\s,]+$/, '');
  return kept === '' ? entry : `${kept}, ${entry}`;
};

export const withEntryReplaced = (value: string, entry: string, next: string): string => {
  const span = spansOf(value).find(({text}) => text === entry);
  return span ? value.slice(0, span.start) + next + value.slice(span.end) : value;
};

/** Removes the entry and the separator before it. */
export const withoutEntry = (value: string, entry: string): string => {
  const spans = spansOf(value);
  const index = spans.findIndex(({text}) => text === entry);
  const [span, before, after] = [spans[index], spans[index - 1], spans[index + 1]];
  if (!span) return value;
  if (before) return value.slice(0, before.end) + value.slice(span.end);
  return after ? value.slice(after.start) : '';
};

const spansOf = (value: string): Span[] => {
  const spans: Span[] = [];
  let depth = 0;
  let start: number | undefined;
  for (let at = 0; at <= value.length; at += 1) {
    const sign = value[at];
    const isApart = sign === undefined || (depth === 0 && /[\s,]/.test(sign));
    if (!isApart) start ??= at;
    else if (start !== undefined) {
      spans.push({text: value.slice(start, at), start, end: at});
      start = undefined;
    }
    if (sign === '{') depth += 1;
    if (sign === '}') depth = Math.max(0, depth - 1);
  }
  return spans;
};
