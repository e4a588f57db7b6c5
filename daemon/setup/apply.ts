// Writer of a plan, which restores everything when a step fails.
//
// copies → record → folder, files, settings → postfix check → record with the hashes of the new files
import {chmod, chown, mkdir, rm, rmdir} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {withKeys} from './node-config.ts';
import type {Plan} from './plan.ts';
import type {PostfixTool} from './postfix-tool.ts';
import {SetupError} from './setup-error.ts';
import {
  backUp,
  bytesOf,
  createFile,
  type EditedFile,
  hashOf,
  hashOfText,
  isThere,
  recordPath,
  replaceFile,
  type Setting,
  type SetupRecord,
} from './setup-record.ts';

interface Needs {
  postfix: PostfixTool;
  data: string;
  /** mfd.yaml */
  nodeFile: string;
  record: SetupRecord | undefined;
  /** Runs `work` with the rights of the owner of `data`. */
  asOwner<T>(work: () => Promise<T>): Promise<T>;
}

type Undoing = (() => Promise<void>)[];

/** Returns the copies that were made. When Postfix rejects the result, restores everything and throws a SetupError with its message. */
export const applyPlan = async (plan: Plan, needs: Needs): Promise<string[]> => {
  const undoing: Undoing = [];
  try {
    return await write(plan, needs, undoing);
  } catch (error) {
    // A step that cannot be undone does not stop the others.
    const failures: string[] = [];
    for (const undo of undoing.reverse()) await undo().catch(failure => failures.push(String(failure)));
    if (failures.length === 0) throw error;
    throw new SetupError(`${(error as Error).message}\nNot everything could be restored: ${failures.join('; ')}`, {cause: error});
  }
};

const write = async (plan: Plan, needs: Needs, undoing: Undoing): Promise<string[]> => {
  const {postfix, data, nodeFile, record, asOwner} = needs;
  const keys = plan.node.map(({key, value}) => ({name: key, before: null, after: value, entry: null}));
  const files = {
    main: await prepare(
      record?.main ?? null,
      {path: join(postfix.configDir, 'main.cf'), suffix: 'before-mfd', settings: plan.main},
      undoing,
    ),
    master: await prepare(
      record?.master ?? null,
      {path: join(postfix.configDir, 'master.cf'), suffix: 'before-mfd', settings: plan.master},
      undoing,
    ),
    node: await prepareNode(needs, keys, undoing),
  };
  const isFolderNew = plan.folder !== undefined && !(await isThere(plan.folder.path));
  const done: SetupRecord = {
    data,
    main: files.main.edited,
    master: files.master.edited,
    node: files.node.edited,
    created: [...(record?.created ?? []), ...plan.created.map(({path, text}) => ({path, hash: hashOfText(text)}))],
    folder: record?.folder ?? (isFolderNew ? (plan.folder?.path ?? null) : null),
  };
  // Written first, so that --undo works even after a crash in the middle.
  await keepRecord(done, postfix, undoing);

  if (plan.folder) await makeFolder(plan.folder, undoing);
  for (const {path, text} of plan.created) await makeFile(path, text, undoing);
  await postfix.edit(plan.main.map(({name, after}) => ({name, value: after})));
  await postfix.editServices(plan.master.map(({name, after}) => ({name, value: after})));
  if (plan.node.length > 0)
    await asOwner(async () => replaceFile(nodeFile, withKeys((await bytesOf(nodeFile))?.toString() ?? '', plan.node))).catch(
      asAdvice(nodeFile, data),
    );

  await requireTaken(plan, postfix);
  const complaint = await postfix.complaint();
  if (complaint !== undefined) throw new SetupError(`Postfix rejects this, and everything was restored:\n${complaint}`);
  await writeRecord(
    {...done, main: await files.main.finish(), master: await files.master.finish(), node: await files.node.finish()},
    postfix,
  );
  return Object.values(files).flatMap(({copy}) => copy ?? []);
};

/** The data directory belongs to another user than root. */
const prepareNode = async ({nodeFile, record, asOwner, data}: Needs, keys: Setting[], undoing: Undoing): Promise<Prepared> => {
  const own: Undoing = [];
  // Registered before anything is written.
  undoing.push(async () => {
    for (const undo of own.reverse()) await asOwner(undo);
  });
  const file = {path: nodeFile, suffix: 'before-setup', settings: keys};
  const prepared = await asOwner(async () => prepare(record?.node ?? null, file, own)).catch(asAdvice(nodeFile, data));
  return {...prepared, finish: async () => asOwner(prepared.finish)};
};

const asAdvice =
  (nodeFile: string, data: string) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    throw new SetupError(
      `the owner of ${data} may not change ${nodeFile}: add by hand what is shown for it without --apply, and run this again`,
      {cause: error},
    );
  };

interface Prepared {
  edited: EditedFile | null;
  /** The record of the file after the change. */
  finish(): Promise<EditedFile | null>;
  /** Undefined when no copy was made. */
  copy: string | undefined;
}

/** A file that an earlier run edited keeps its first copy; later changes by others survive an undo. */
const prepare = async (
  edited: EditedFile | null,
  {path, suffix, settings}: {path: string; suffix: string; settings: Setting[]},
  undoing: Undoing,
): Promise<Prepared> => {
  if (settings.length === 0) return {edited, finish: async () => edited, copy: undefined};
  const before = await bytesOf(path);
  if (!before) throw new SetupError(`${path} does not exist`);
  const isOurs = edited === null || (await hashOf(path)) === edited.hash;
  const copy = edited ? undefined : await backUp(path, suffix);
  undoing.push(async () => replaceFile(path, before));
  if (copy !== undefined) undoing.push(async () => rm(copy, {force: true}));
  const next = {path, backup: edited?.backup ?? copy ?? '', hash: null, settings: merged(edited?.settings ?? [], settings)};
  return {edited: next, finish: async () => ({...next, hash: isOurs ? ((await hashOf(path)) ?? null) : null}), copy};
};

/** Undoing goes back to the values before the first run. */
const merged = (former: Setting[], settings: Setting[]): Setting[] => {
  const first = new Map(former.map(setting => [setting.name, setting]));
  const again = settings.map(setting => ({...setting, before: (first.get(setting.name) ?? setting).before}));
  return [...former.filter(({name}) => !settings.some(setting => setting.name === name)), ...again];
};

const keepRecord = async (record: SetupRecord, postfix: PostfixTool, undoing: Undoing): Promise<void> => {
  const path = recordPath(postfix.configDir);
  const before = await bytesOf(path);
  undoing.push(async () => (before ? replaceFile(path, before) : rm(path, {force: true})));
  await writeRecord(record, postfix);
};

const writeRecord = async (record: SetupRecord, {configDir}: PostfixTool): Promise<void> =>
  createFile(recordPath(configDir), `${JSON.stringify(record, null, 2)}\n`, 0o600);

const makeFolder = async ({path, uid, gid}: NonNullable<Plan['folder']>, undoing: Undoing): Promise<void> => {
  if (!(await isThere(path))) {
    await mkdir(path, {mode: 0o700});
    undoing.push(async () => rmdir(path));
  }
  await chown(path, uid, gid);
  // Set-gid: sockets in this folder get its group, so that Postfix can connect.
  await chmod(path, 0o2750);
};

const makeFile = async (path: string, text: string, undoing: Undoing): Promise<void> => {
  const folder = dirname(path);
  if (!(await isThere(folder))) {
    await mkdir(folder);
    undoing.push(async () => rmdir(folder));
    await chmod(folder, 0o755);
  }
  undoing.push(async () => rm(path, {force: true}));
  await createFile(path, text, 0o644);
};

const requireTaken = async ({main}: Plan, postfix: PostfixTool): Promise<void> => {
  const explicit = await postfix.explicit();
  const [wrong] = main.filter(({name, after}) => explicit.get(name) !== after);
  if (wrong)
    throw new SetupError(
      `main.cf sets ${wrong.name} in a way that postconf cannot change; make it ${wrong.name} = ${wrong.after} there, and run this again`,
    );
};
