import {type Command, InvalidArgumentError} from 'commander';
import type {CreatedToken} from '../client/client.ts';
import {parseDuration} from '../command-line/time-text.ts';
import {timeText} from '../output/cell-text.ts';
import type {Shown} from '../output/resource.ts';
import type {Session} from '../session.ts';

const createdToken: Shown<CreatedToken> = {
  fields: ['token', 'expires_at', 'address', 'ca_fingerprint'],
  nameOf: ({token}) => token,
  details: created => [
    ['Token', created.token],
    ['Expires', timeText(created.expires_at)],
    ['Address', created.address],
    ['Fingerprint', created.ca_fingerprint],
  ],
};

export const addTokenCommand = (cluster: Command, session: Session): void => {
  session
    .prints(cluster.command('token'), createdToken)
    .description('create a token that lets one new node join; keep it secret')
    .option('--expires-in <duration>', 'how long the token is valid, 1m to 24h (default: 1h)', durationSeconds)
    .addHelpText('after', help)
    .action((flags: {expiresIn?: number}) => createToken(session, flags.expiresIn));
};

const help = `
Examples:
  mfctl cluster token > token
  mfctl cluster token --expires-in 10m -q | ssh mx2 mfd join - --data /var/lib/mfd --fqdn mx2.example.com

On the new machine, with the token of the first one: mfd join - --data /var/lib/mfd < token`;

/** The token alone is data: a pipe to the new machine gets nothing else. */
const createToken = async (session: Session, expiresInSeconds: number | undefined): Promise<void> => {
  const client = await session.client();
  const {data} = await client.cluster.createToken({expiresInSeconds});
  const printer = session.printer();
  if (printer.format === 'table') printer.text(`${data.token}\n`);
  else printer.record(data, createdToken);
  printer.note(`This lets one node join through ${data.address}, until ${timeText(data.expires_at)}. On the new machine:`);
  printer.note('  mfd join - --data /var/lib/mfd');
  printer.note('with the token on standard input, as arguments are seen by every user of a machine.');
};

const durationSeconds = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Must be a duration such as 30m or 12h.');
  return Math.floor(durationMs / 1000);
};
