// Settings of a domain that it has for each reason for holding mail: `phishing=60`.
import {type Reason, reasons} from '../../shared/reason.ts';
import {quoted} from '../../shared/shell-word.ts';
import {usageError} from '../errors.ts';

export const reasonLabels: Record<Reason, string> = {spam: 'Spam', phishing: 'Phishing', sandbox: 'Sandbox', rbl: 'RBL'};

interface Option<V> {
  /** As in `--reason`. */
  flag: string;
  /** The command, for its help. */
  command: string;
  /** The value in a text; undefined for none. */
  parse(text: string): V | undefined;
  /** What has to stand behind the `=`, and an example. */
  what: string;
}

/** Throws a usage error for what is no `reason=value`, and for a reason that is given twice. */
export const valuesByReason = <V>(
  texts: readonly string[],
  {flag, command, parse, what}: Option<V>,
): Partial<Record<Reason, V>> => {
  const given = new Map<Reason, V>();
  const wrong = (fault: string) => usageError(`${flag} ${fault}`, `${command} --help`);
  for (const text of texts) {
    const at = text.indexOf('=');
    const reason = reasons.find(one => one === text.slice(0, at));
    const value = at < 0 ? undefined : parse(text.slice(at + 1));
    if (reason === undefined || value === undefined)
      throw wrong(`${quoted(text)} must be one of ${reasons.join(', ')} with ${what}`);
    if (given.has(reason)) throw wrong(`${reason} is given twice`);
    given.set(reason, value);
  }
  return Object.fromEntries(given) as Partial<Record<Reason, V>>;
};
