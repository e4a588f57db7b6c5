// `mfd start`: runs an existing node, or with --init creates the node first. Without --init a folder without a node is an error,
// as it is mostly a mistyped name or an unmounted disk.
import {resolve} from 'node:path';
import {readConfig} from '../config/load.ts';
import {UsageError} from '../node/command-error.ts';
import {dataFolder} from '../node/data-folder.ts';
import {requireFreeAddresses} from '../node/free-addresses.ts';
import type {RunningNode} from '../node/node.ts';
import {checkConfig} from './check-config.ts';
import {type InitReport, initialise} from './init.ts';
import {addMfctlContext, contextCommand} from './mfctl-context.ts';
import {findUninitialised, type NewNodeOptions, settingsIn, withoutListens} from './new-node.ts';
import {run} from './run.ts';

export interface StartOptions extends NewNodeOptions {
  init?: boolean;
}

interface Needs {
  environment: NodeJS.ProcessEnv;
  version: string;
  print(text: string): void;
  warn(text: string): void;
  /** Texts about a node that was created, and about one that runs for the first time. */
  texts: {welcome(made: InitReport): string; firstSteps(node: RunningNode): string};
}

export const start = async ({init = false, ...options}: StartOptions, needs: Needs): Promise<void> => {
  const {environment, version} = needs;
  const uninitialised = await findUninitialised(options.data);
  if (uninitialised && !init) throw new UsageError(noNode(options.data));
  if (uninitialised) return makeAndRun(options, uninitialised, needs);
  const flags = flagsIn(options);
  if (flags.length > 0)
    throw new UsageError(
      `${options.data} holds a node already: ${flags.join(', ')} ${flags.length === 1 ? 'is' : 'are'} for a new one; leave that out, and change ${dataFolder(options.data).config} instead`,
    );
  return run({data: options.data, environment, version});
};

const makeAndRun = async (
  options: NewNodeOptions,
  {isConfigured}: {isConfigured: boolean},
  {environment, version, print, warn, texts}: Needs,
): Promise<void> => {
  const {data} = options;
  // Create no node that could not start.
  if (!isConfigured) await checkConfig(await readConfig('', 'mfd.yaml', environment));
  const made = await initialise(
    {...(!isConfigured && settingsIn(environment)), ...options},
    {
      beforeCreating: async ({config, folder}) =>
        requireFreeAddresses(config, {
          file: folder.config,
          advice: isConfigured ? '' : ', such as with --metrics-listen; no node was made',
        }),
      warn,
    },
  );
  // The key is shown before anything else can fail: it is never shown again.
  print(texts.welcome(made));
  let isReady = false;
  try {
    await run({
      data,
      environment: isConfigured ? environment : withoutListens(environment),
      version,
      // mfctl switches to the new node only when it runs.
      async beforeReady(node) {
        print(await addMfctlContext(made));
        print(texts.firstSteps(node));
        isReady = true;
      },
    });
  } catch (error) {
    if (!isReady) print(`mfctl was not changed. Once the node runs: ${contextCommand(made)}`);
    throw error;
  }
};

const noNode = (data: string): string =>
  `no node in ${resolve(data)}: correct --data, or mount what belongs there; to make a new node there: mfd start --init --data ${data}`;

/** The options for a new node, as they are typed. */
const flagsIn = ({data: _, ...options}: NewNodeOptions): string[] =>
  Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`],
  );
