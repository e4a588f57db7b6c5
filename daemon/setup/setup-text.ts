// Text output of a plan.
import {safeBlock} from '../../shared/safe-text.ts';
import {withKeys} from './node-config.ts';
import type {Plan} from './plan.ts';
import type {SetupRecord} from './setup-record.ts';

export interface Named {
  configDir: string;
  nodeFile: string;
  /** The command line of this run, without `--apply`. */
  command: string;
}

export const isNothing = ({main, master, node, folder, created}: Plan): boolean =>
  main.length + master.length + node.length + created.length === 0 && folder === undefined;

const planText = (plan: Plan, {configDir, nodeFile}: Named): string => {
  const parts = [
    section(
      `${configDir}/main.cf`,
      plan.main.flatMap(({name, before, after}) => [
        ...(before === null ? [] : [`- ${name} = ${before}`]),
        `+ ${name} = ${after}`,
      ]),
    ),
    section(
      `${configDir}/master.cf`,
      plan.master.map(
        ({name, after}) => `+ ${name.slice(0, name.lastIndexOf('/'))}: -o ${name.slice(name.lastIndexOf('/') + 1)}=${after}`,
      ),
    ),
    plan.folder
      ? `${plan.folder.path}\n  a folder for the sockets: owner as the data directory has, group of Postfix, mode 2750\n`
      : '',
    section(nodeFile, addedLines(withKeys('', plan.node))),
    ...plan.created.map(({path, text}) => section(`${path} (new)`, addedLines(text))),
    plan.notes.length > 0 ? `Note:\n${plan.notes.map(note => `  * ${note}\n`).join('')}` : '',
  ];
  return safeBlock(parts.filter(Boolean).join('\n'));
};

export const printedText = (plan: Plan, named: Named): string =>
  isNothing(plan)
    ? `Nothing to change.\n\n${planText(plan, named)}`
    : `${planText(plan, named)}\nNothing has been written. To write it, keeping copies:\n  ${named.command} --apply`;

export const appliedText = (plan: Plan, named: Named, copies: string[]): string =>
  isNothing(plan)
    ? `Nothing to change.\n\n${planText(plan, named)}`
    : `${planText(plan, named)}
Written${copies.length > 0 ? `; copies of the files before are in ${copies.join(', ')}` : ''}.
Continue in this order, because Postfix lets all mail wait while it cannot ask mfd:
  1. ${restart(plan.created.length > 0)}
  2. postfix${named.configDir === '/etc/postfix' ? '' : ` -c ${named.configDir}`} reload
To undo it:
  ${named.command} --undo`;

export const undoneText = (lines: string[], {created, main}: SetupRecord, {configDir}: Named): string =>
  safeBlock(`${lines.join('\n')}
Mail that is held stays in Postfix’s hold queue.${main?.settings.some(({name}) => name === 'enable_long_queue_ids') ? renamed : ''}
Continue in this order, because Postfix lets all mail wait while it cannot ask mfd:
  1. postfix${configDir === '/etc/postfix' ? '' : ` -c ${configDir}`} reload
  2. ${restart(created.length > 0)}`);

/** `postfix reload` runs postsuper(1), which renames messages with long queue IDs once long IDs are off. */
const renamed = `
As enable_long_queue_ids has its former value again, Postfix gives this mail new ids at the next reload, which mfd does not know:
release or discard it first if you still want to decide about it.`;

const restart = (isRspamdChanged: boolean): string =>
  isRspamdChanged
    ? 'restart mfd and Rspamd, such as with systemctl restart rspamd mfd'
    : 'restart mfd, such as with systemctl restart mfd';

const section = (title: string, lines: string[]): string =>
  lines.length === 0 ? '' : `${title}\n${lines.map(line => `  ${line}\n`).join('')}`;

const addedLines = (text: string): string[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => `+ ${line}`);
