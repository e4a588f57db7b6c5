// Help topics that concern every command, for `mfctl help TOPIC` and the manual.
import {exitCodes} from '../errors.ts';
import {outputFormats} from '../output/output-format.ts';

/** A term and what it means. */
type Entry = readonly [term: string, meaning: string];

export interface HelpTopic {
  name: string;
  about: string;
  intro: string;
  entries: readonly Entry[];
  /** Paragraphs after the entries. */
  closing: string;
}

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  ok: 'done',
  failed: 'failed',
  usage: 'wrong usage: the command line, a variable or the configuration is invalid, or names no context',
  cancelled: 'cancelled or timed out',
  notAuthorised: 'not authorised: the key is missing, wrong or revoked, or may not do this',
  notFound: 'not found: no such domain, key, mail or node',
  partial: 'a part of a bulk action failed, or a list is incomplete under --strict',
  unreachable: 'unreachable, or rate-limited for too long; nothing is wrong with the request',
  interrupted: 'interrupted with Ctrl-C',
};

const formatMeanings: Record<string, string> = {
  table: 'columns for people, the default; cut to fit a terminal, never cut elsewhere',
  wide: 'the same with every column',
  json: "one value: the data of the API's answer",
  ndjson: 'one record a line, in JSON',
  yaml: 'the same value as json, in YAML',
  csv: 'one record a line with a line of titles, quoted as RFC 4180 says',
  name: 'one name or id a line, as other commands take it',
};

const environment: readonly Entry[] = [
  ['MFCTL_CONTEXT', 'name of the context to use, as --context'],
  ['MFCTL_URL', 'address of a node, as --url'],
  ['MFCTL_API_KEY', 'the API key itself'],
  ['MFCTL_API_KEY_FILE', 'file that holds the API key, as --api-key-file'],
  ['MFCTL_CACERT', 'certificate to trust, as --cacert'],
  ['MFCTL_RETRY_FOR', 'how long to retry when a node is busy, as --retry-for (default: 30s)'],
  ['MFCTL_OUTPUT', 'output format, as --output'],
  ['MFCTL_METRICS_URL', 'address of the metrics listener, as --metrics-url'],
  ['NO_COLOR', 'any value but the empty one means no colours, as --no-color'],
  ['XDG_CONFIG_HOME', 'folder of mfctl/config.yaml and mfctl/keys.yaml (default: ~/.config)'],
];

export const helpTopics: readonly HelpTopic[] = [
  {
    name: 'connection',
    about: 'which node is asked, and with which key',
    intro:
      'Address, key and certificate are each taken from the first of these that sets it: an option, an environment variable, the context.',
    entries: [
      ['options', '--url, --api-key-file, --cacert, and --context for another context'],
      ['environment', 'MFCTL_URL, MFCTL_API_KEY or MFCTL_API_KEY_FILE, MFCTL_CACERT, MFCTL_CONTEXT'],
      ['context', 'the current one, which mfctl context use chooses; mfctl context list shows all'],
    ],
    closing:
      'A context may have the addresses of several nodes of one cluster. When a node does not answer, mfctl asks the next one and says so on standard error. It sends a request that changes something to another node only if no part of it was sent before, or if repeating it is safe (release, discard, key revoke). mfctl login learns the addresses; log in again to update them, for example after a node was removed. --url and MFCTL_URL mean that one node only. The connection is HTTPS, and the certificate of the node must be signed by the authority of --cacert, or else by one that Node trusts: its built-in ones, and those in the file of NODE_EXTRA_CA_CERTS. The authority of a cluster is tls/ca.crt in the data directory of each node; mfctl login shows it and asks whether to trust it from then on. The user who runs mfd init gets a context for the new node. A key is never an argument, because every user of a machine can see arguments.',
  },
  {
    name: 'formats',
    about: 'what -o prints',
    intro: 'Data goes to standard output, everything else to standard error. -o, or MFCTL_OUTPUT, says how the data is written:',
    entries: outputFormats.map(name => [name, formatMeanings[name] ?? '']),
    closing:
      'Times are UTC; those that are typed without a zone, such as 12:30, yesterday or "2026-03-01 12:30", are of this machine, and are shown as they were understood. In tables, control, escape, bidirectional and zero-width characters of a mail are replaced by visible marks; in JSON they are escaped, so that it can be shown and still parses to what was sent.',
  },
  {
    name: 'exit-status',
    about: 'what scripts may rely on',
    intro: 'mfctl exits with:',
    entries: (Object.keys(exitCodes) as (keyof typeof exitCodes)[]).map(name => [String(exitCodes[name]), exitMeanings[name]]),
    closing:
      'An error is `error: WHAT (CODE, request ID)` on standard error, and often `hint: WHAT TO DO`. With -o json it is an object with code, detail, hint and exit_code there.',
  },
  {
    name: 'environment',
    about: 'the variables that mfctl reads',
    intro: 'Options win over these variables, and these win over the context:',
    entries: environment,
    closing: '',
  },
];
