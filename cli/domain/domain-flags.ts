import {type Command, Option} from 'commander';
import type {Domain} from '../../shared/domain.ts';
import {directions} from '../../shared/domain-rules.ts';
import {collected, decimal} from '../command-line/option-values.ts';

/** As commander parses them; options that were not given are undefined. */
export interface SettingFlags {
  backend?: string[];
  direction?: Domain['direction'];
  quarantineThreshold?: number;
  rejectThreshold?: number;
  dkim?: boolean;
  dmarcReporting?: boolean;
  /** False for `--no-tenant-id`. */
  tenantId?: string | false;
  active?: boolean;
  inactive?: boolean;
}

export const addSettingOptions = (command: Command): Command =>
  command
    .option(
      '--backend <host:port>',
      'server that takes its mail, IPv6 in brackets; repeat it for more, tried in order',
      collected,
    )
    .addOption(new Option('--direction <direction>', 'which mail is filtered').choices(directions))
    .option('--quarantine-threshold <score>', 'hold mail from this score on', decimal)
    .option('--reject-threshold <score>', 'refuse mail from this score on', decimal)
    .option('--dkim', 'sign outbound mail')
    .option('--no-dkim', 'do not sign outbound mail')
    .option('--dmarc-reporting', 'send DMARC reports')
    .option('--no-dmarc-reporting', 'send no DMARC reports')
    .option('--tenant-id <id>', 'tenant it belongs to');

/** The members of a domain that were given. */
export const settingsOf = (flags: SettingFlags): Record<string, unknown> => {
  const settings = {
    backend_servers: flags.backend,
    direction: flags.direction,
    quarantine_threshold: flags.quarantineThreshold,
    reject_threshold: flags.rejectThreshold,
    dkim_active: flags.dkim,
    dmarc_reporting: flags.dmarcReporting,
    tenant_id: tenantId(flags.tenantId),
    active: flags.inactive ? false : flags.active,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
};

/** The API distinguishes numbers and names of tenants. */
const tenantId = (flag: SettingFlags['tenantId']): number | string | null | undefined => {
  if (flag === false) return null;
  return flag !== undefined && /^\d{1,15}$/.test(flag) ? Number(flag) : flag;
};
