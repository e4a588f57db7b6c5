// MAIL and RCPT commands, split into the address in the SMTP path and what stands around it.
import {withoutBrackets} from '../../../shared/mail-address.ts';

export interface PathCommand {
  /** `MAIL FROM` or `RCPT TO`, as the client wrote it. */
  verb: string;
  /** Without brackets and source route, and not checked any further. Empty for `<>`. */
  address: string;
  parameters: string;
}

/** A quoted local part may contain spaces (RFC 5321 section 4.1.2). */
const pathCommand = /^([^:]*):\s*(<(?:[^\s<>"]|"(?:[^"\\<>]|\\[^<>])*")*>)(?:\s+(.*))?$/su;

/** Undefined when the command has no path in angle brackets. */
export const parsePathCommand = (line: string): PathCommand | undefined => {
  const [, verb = '', path, parameters = ''] = pathCommand.exec(line) ?? [];
  return path === undefined ? undefined : {verb, address: withoutBrackets(path), parameters};
};
