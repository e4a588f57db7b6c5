// Trust in a new server: by the system, a given CA or fingerprint, or the answer of a person who is shown its certificate.
import type {X509Certificate} from 'node:crypto';
import {canonicalHost} from '../../shared/host-port.ts';
import {checkedCaFile, type Given, readCa} from '../client/connection.ts';
import {clocksHint, endedHint} from '../client/request-failure.ts';
import type {ServerCertificate} from '../client/server-certificate.ts';
import {canonicalFingerprint, fingerprintOf} from '../client/trust.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import type {Context} from '../files/context-store.ts';
import {dateText} from '../output/cell-text.ts';
import {type Detail, renderDetails} from '../output/table.ts';
import type {Session} from '../session.ts';

interface Trust {
  /** PEM; undefined is what Node trusts. */
  ca: string | undefined;
  context: Pick<Context, 'cacert' | 'fingerprint'>;
  /** `ca` was sent by the server, so there is no file of it yet. */
  isKeptHere: boolean;
}

interface TrustRequest {
  url: string;
  cacert: Given | undefined;
  expected: string | undefined;
  isAgreed: boolean | undefined;
}

/** Rejects unless the system, the given CA, the fingerprint or the person's answer confirms the server. */
export const trustedBy = async (session: Session, {url, cacert, expected, isAgreed}: TrustRequest): Promise<Trust> => {
  const named = cacert === undefined ? undefined : await readCa(cacert);
  const {inspectServer} = await import('../client/server-certificate.ts');
  const server = await inspectServer(new URL(url), named);
  const {leaf, anchor, distrust} = server;
  const isTrusted = distrust === undefined;
  const show = () => session.terminal.stderr.write(describe(url, server));
  const isExpected = expected === undefined || [leaf, anchor].some(certificate => fingerprintOf(certificate) === expected);
  const isWrongAuthority = cacert !== undefined && !isTrusted;
  const fault =
    isUsable(server) && isExpected && !isWrongAuthority ? undefined : faultOf(url, server, {isExpected, cacert: cacert?.value});
  if (fault || expected === undefined || !session.printer().isQuiet) show();
  if (fault) throw fault;

  if (isTrusted) {
    session.printer().note(`It is trusted already, by ${cacert?.value ?? 'this system'}.`);
    return {ca: named, context: cacert === undefined ? {} : {cacert: await checkedCaFile(cacert)}, isKeptHere: false};
  }
  if (expected === undefined) await askToTrust(session, anchor, isAgreed);
  return {ca: anchor.toString(), context: {fingerprint: fingerprintOf(anchor)}, isKeptHere: true};
};

const askToTrust = async (session: Session, anchor: X509Certificate, isAgreed: boolean | undefined): Promise<void> => {
  const {terminal} = session;
  terminal.stderr.write(
    anchor.ca
      ? `To compare, on a node of the cluster:\n  ${compareCommand}\n`
      : 'No authority was sent with it: it would be trusted until it is renewed. --cacert FILE names the authority.\n',
  );
  if (isAgreed) return session.printer().warn('trusted because of --yes: no fingerprint was compared');
  if (!terminal.stdin.isTTY)
    throw usageError(
      'this server is not trusted yet, and there is no terminal to ask on',
      'compare, and repeat with --fingerprint SHA256',
    );
  await session.confirm('Trust it from now on?', false);
};

const compareCommand = 'openssl x509 -noout -fingerprint -sha256 -in DATA/tls/ca.crt';

const hasEnded = ({validTo}: X509Certificate): boolean => Date.parse(validTo) <= Date.now();

const isInTime = (certificate: X509Certificate): boolean =>
  Date.parse(certificate.validFrom) <= Date.now() && !hasEnded(certificate);

const isUsable = ({leaf, anchor, isNamed}: ServerCertificate): boolean => isNamed && isInTime(leaf) && isInTime(anchor);

/** Problems that trust cannot solve. */
const faultOf = (
  url: string,
  {leaf, anchor, isNamed}: ServerCertificate,
  {isExpected, cacert}: {isExpected: boolean; cacert: string | undefined},
): CliError => {
  const {host} = new URL(url);
  const fault = (code: string, detail: string, hint: string) =>
    new CliError(code, `${detail}; no key was sent`, {exitCode: exitCodes.unreachable, hint});
  if (!isNamed)
    return fault('tls_wrong_name', `the certificate of ${host} is for other names`, 'use one of its names in the address');
  if (!isInTime(leaf) || !isInTime(anchor))
    return hasEnded(leaf)
      ? fault('tls_expired', `the certificate of ${host} has expired`, endedHint)
      : fault('tls_expired', `the certificate of ${host} is not valid at this time`, clocksHint);
  if (!isExpected)
    return fault(
      'tls_changed',
      `${host} does not show what --fingerprint names`,
      'this is another server than the one meant, or the fingerprint is that of another certificate',
    );
  return fault(
    'tls_untrusted',
    `${host} shows a certificate that ${cacert} does not vouch for`,
    'leave out --cacert to look at it',
  );
};

const describe = (url: string, {leaf, anchor}: ServerCertificate): string => {
  const signed =
    leaf.fingerprint256 === anchor.fingerprint256 ? '' : `Signed by\n${indented(renderDetails(certificateDetails(anchor)))}`;
  return `${new URL(url).host} shows this certificate:\n${indented(renderDetails(certificateDetails(leaf)))}${signed}`;
};

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');

const certificateDetails = (certificate: X509Certificate): Detail[] => [
  ['Subject', certificate.subject.split('\n').join(', ')],
  ...(certificate.ca ? [] : [['Names', namesIn(certificate)] as const]),
  ['Valid', `${dayOf(certificate.validFrom)} to ${dayOf(certificate.validTo)}`],
  ['SHA-256', certificate.fingerprint256],
];

const dayOf = (time: string): string | null => dateText(new Date(time).toISOString());

const namesIn = ({subjectAltName}: X509Certificate): string[] =>
  (subjectAltName ?? '').split(', ').flatMap(name => canonicalHost(name.replace(/^(DNS|IP Address):/, '')) || []);

/** Undefined when none was given. Throws a usage error for anything but a fingerprint. */
export const expectedFingerprint = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined;
  const fingerprint = canonicalFingerprint(text);
  if (fingerprint !== undefined) return fingerprint;
  throw usageError(`${JSON.stringify(text)} is not a SHA-256 fingerprint`, `it is what this prints: ${compareCommand}`);
};
