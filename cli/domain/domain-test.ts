// Command `domain test`: whether mail of a domain will work, and what a new domain is warned of.
import type {Command} from 'commander';
import {decidingSteps} from '../../shared/deciding-steps.ts';
import type {Domain} from '../../shared/domain.ts';
import type {DomainTest, TestState, TestStep} from '../../shared/domain-test.ts';
import type {Client} from '../client/client.ts';
import {ExitStatus, exitCodes} from '../errors.ts';
import type {Column, Tone} from '../output/column.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {findDomainId} from './find-domain.ts';

const tones: Record<TestState, Tone> = {ok: 'good', warning: 'warn', failed: 'bad'};

const columns: Column<TestStep>[] = [
  {title: 'PART', cell: ({part}) => part},
  {title: 'NAME', cell: ({name}) => name},
  {title: 'STEP', cell: ({step}) => step},
  {title: 'STATE', cell: ({state}) => state, tone: ({state}) => tones[state]},
  {title: 'DETAIL', cell: ({detail}) => detail, isFlexible: true},
];

const testSteps: Listed<TestStep> = {
  fields: ['part', 'name', 'step', 'state', 'detail'],
  answerFields: ['domain', 'node_id', 'works', 'steps'],
  nameOf: ({name}) => name,
  columns,
};

export const addTestCommand = (domain: Command, session: Session): void => {
  session
    .prints(domain.command('test'), testSteps)
    .description('ask the backends, the scanner and DNS whether mail for a domain will work')
    .argument('<domain>', 'name or id')
    .addHelpText('after', help)
    .action(async (nameOrId: string) => {
      const client = await session.client();
      const {data} = await client.domains.test(await findDomainId(client, nameOrId));
      const printer = session.printer();
      printer.list(data.steps, testSteps, {value: data});
      printer.note(verdictOf(data));
      if (!data.works) throw new ExitStatus(exitCodes.failed);
    });
};

const help = `
The node that answers connects to each backend, and says what it answered to greeting, EHLO, STARTTLS and RCPT of
postmaster; no mail is sent. It asks the scanner, and compares DNS with what the domain should have (domain dns --check).
The exit status is 1 when mail will not work: no backend takes it, the scanner is away and mail waits for it, the domain is
inactive, or MX leads past all nodes.

Example:
  mfctl domain test example.com`;

const verdictOf = ({domain, node_id, works, steps}: DomainTest): string => {
  const odd = steps.filter(({state}) => state !== 'ok').length;
  if (works) return `mail for ${domain} will work, as ${node_id} sees it${odd > 0 ? '; what is not ok is above' : ''}`;
  const reasons = decidingSteps(steps).map(reasonOf);
  return [`mail for ${domain} will not work, as ${node_id} sees it`, ...reasons.slice(0, maxReasons)].join('; ');
};

/** A domain can have dozens of backends. */
const maxReasons = 3;

/** `dns example.com mx: no MX record; wanted: mx1.example.net` */
const reasonOf = ({part, name, step, detail}: TestStep): string =>
  `${[part, name, step].filter(text => text !== '').join(' ')}: ${detail}`;

export const warnOfUnreachable = async (session: Session, client: Client, domain: Domain): Promise<void> => {
  const printer = session.printer();
  if (printer.isQuiet) return;
  for (const problem of await unreachableBackends(client, domain)) printer.warn(problem);
};

/** The domain is there, so nothing here may fail: not a node of an earlier version either. */
export const unreachableBackends = async (client: Pick<Client, 'domains'>, {id}: Domain): Promise<string[]> => {
  const tested = await client.domains.test(id, {only: 'connection'}, {withinMs: 10_000}).catch(() => undefined);
  return (tested?.data.steps ?? [])
    .filter(({part, state}) => part === 'backend' && state === 'failed')
    .map(({name, detail}) => `backend ${name} cannot be reached: ${detail}`);
};
