// Commands of webhooks.
import {type Command, Option} from 'commander';
import {addFieldOptions, givenValues} from '../command-line/field-options.ts';
import {pastMoment} from '../command-line/moment.ts';
import {addLimitOption, addWholeOption, usualLimit, wholeNumber} from '../command-line/option-values.ts';
import {ExitStatus, exitCodes, usageError} from '../errors.ts';
import {countText, timeText} from '../output/cell-text.ts';
import {flushed} from '../output/printer.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import {addStrictOption, askStrictly, reportPartial, type StrictFlag} from '../quarantine/quarantine-list.ts';
import type {Session} from '../session.ts';
import {
  createdWebhook,
  type NewWebhookFlags,
  newWebhookFields,
  shownWebhook,
  webhookDeliveries,
  webhooks,
  webhookTest,
} from './webhook-fields.ts';

interface DeliveryFlags extends SortFlag, StrictFlag {
  failed?: boolean;
  limit?: number;
}

const id = ['<id>', 'as webhook list shows it', wholeNumber] as const;

export const addWebhookCommands = (program: Command, session: Session): void => {
  const webhook = program.command('webhook').description('manage webhooks: send mail events to other programs');

  addWholeOption(addSortOption(session.prints(webhook.command('list'), webhooks)))
    .description('list the webhooks')
    .action(async (flags: SortFlag) => {
      const sorter = createSorter(webhooks, flags);
      const client = await session.client();
      const {data} = await client.webhooks.list();
      session.printer().list(sorter(data), webhooks);
    });

  session
    .prints(webhook.command('show'), shownWebhook)
    .description('show a webhook, and how far each node has sent its events')
    .argument(...id)
    .action(async (wanted: number) => {
      const client = await session.client();
      const answer = await client.webhooks.get(wanted);
      session.printer().record(answer.data, shownWebhook);
      if (answer.unreachableNodes.length > 0)
        session.printer().warn(`not known how far ${answer.unreachableNodes.join(', ')} has sent: no answer`);
    });

  addFieldOptions(session.prints(webhook.command('add'), createdWebhook), Object.values(newWebhookFields))
    .description('send mail events to an address from now on; the secret that signs them is shown once')
    .argument('<url>', 'where to send each event, such as https://hooks.example.com/mail')
    .addHelpText('after', addHelp)
    .action((url: string, flags: NewWebhookFlags) => add(session, url, flags));

  webhook
    .command('remove')
    .description('remove a webhook; what was not sent yet is not sent')
    .argument(...id)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  mfctl webhook remove 1000000001')
    .action(async (unwanted: number, {yes}: {yes?: boolean}) => {
      const client = await session.client();
      const {data} = await client.webhooks.get(unwanted);
      await session.confirm(`Remove webhook ${unwanted} (${data.url})? Its secret is gone then.`, yes);
      await client.webhooks.remove(unwanted);
      session.printer().done(`removed webhook ${unwanted}`);
    });

  session
    .prints(webhook.command('test'), webhookTest)
    .description('send a test event now; the exit status is 1 when it is not taken')
    .argument(...id)
    .addHelpText('after', '\nExample:\n  mfctl webhook test 1000000001')
    .action((wanted: number) => test(session, wanted));

  addDeliveriesCommand(webhook, session);

  session
    .prints(webhook.command('replay'), webhooks)
    .description('send all events since a time again, and enable a webhook that was disabled')
    .argument(...id)
    .addOption(
      new Option(
        '--since <time>',
        "send again what happened at or after this time: 12:30, yesterday, '2026-03-01 12:30', or 2h and 3d before now",
      )
        .argParser(pastMoment)
        .makeOptionMandatory(),
    )
    .addHelpText('after', replayHelp)
    .action(async (wanted: number, {since}: {since: string}) => {
      const client = await session.client();
      const {data} = await client.webhooks.replay(wanted, {since});
      session.printer().record(data, webhooks);
      session.printer().note(`every node sends its events since ${timeText(since)} again; receivers know them by their ids`);
    });
};

const addHelp = `
Every event is signed as Standard Webhooks 1.0 says. An address has to be public, with https://. Those in a network of
webhooks.allow_networks in mfd.yaml may be private, with http:// as well.

Examples:
  mfctl webhook add https://hooks.example.com/mail
  mfctl webhook add https://hooks.example.com/held --events held,released --domain example.com`;

const replayHelp = `
If the webhook was disabled, events from before that time that were not sent are left out.

Examples:
  mfctl webhook replay 1000000001 --since 2h
  mfctl webhook replay 1000000001 --since '2026-03-01 12:30'`;

const deliveriesHelp = `
An event that is not taken is tried again for up to 75 hours, then given up. Events that were taken at once are not listed.

Examples:
  mfctl webhook deliveries 1000000001
  mfctl webhook deliveries 1000000001 --failed -o ndjson`;

const add = async (session: Session, url: string, flags: NewWebhookFlags): Promise<void> => {
  const printer = session.printer();
  if (!printer.shows('secret')) throw usageError('the secret would never be shown', 'name the field secret in --json');
  const client = await session.client();
  const {data} = await client.webhooks.add({url, ...givenValues(newWebhookFields, flags)});
  if (printer.isQuiet && printer.isForPeople) printer.text(`${data.secret}\n`);
  else printer.record(data, createdWebhook);
  await flushed(session.terminal, `the secret of webhook ${data.id}, which is lost; remove it: mfctl webhook remove ${data.id}`);
  printer.note('Keep the secret now: it is not shown again. The receiver needs it to verify what comes.');
};

const test = async (session: Session, id: number): Promise<void> => {
  const client = await session.client();
  const {data} = await client.webhooks.test(id);
  const printer = session.printer();
  printer.record(data, webhookTest);
  if (data.error === null) return printer.note(`webhook ${id} took the event from ${data.node_id}`);
  printer.note(`webhook ${id} did not take the event from ${data.node_id}: ${data.error}`);
  throw new ExitStatus(exitCodes.failed);
};

const addDeliveriesCommand = (webhook: Command, session: Session): void => {
  const command = session
    .prints(webhook.command('deliveries'), webhookDeliveries)
    .description('list the events that were not taken at once, newest first')
    .argument(...id)
    .option('--failed', 'only those that were given up');
  addSortOption(addStrictOption(addLimitOption(command)))
    .addHelpText('after', deliveriesHelp)
    .action(async (wanted: number, {failed, limit, strict, sort}: DeliveryFlags) => {
      const sorter = createSorter(webhookDeliveries, {sort});
      const client = await session.client();
      const query = {state: failed ? 'given_up' : undefined, limit, strict};
      const answer = await askStrictly(client.webhooks.deliveries(wanted, query), {strict});
      const none = failed ? 'no event was given up' : 'no event waits, and none was given up';
      session.printer().list(sorter(answer.data), {...webhookDeliveries, none});
      if (answer.data.length === (limit ?? usualLimit))
        session.printer().note(`the newest ${countText(answer.data.length)}; there may be more: --limit, up to 1000`);
      reportPartial(session, answer, {strict});
    });
};
