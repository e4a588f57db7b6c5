// Kinds of values in mfd.yaml.
import {isIP} from 'node:net';
import {z} from 'zod';
import {nodeIdPattern} from '../../shared/fields.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import {parseMailAddress} from '../../shared/mail-address.ts';
import {parseLocalAddress} from '../mail/local-listener.ts';
import {createNetworkSet} from '../mail/networks.ts';
import {storeUrlFault} from './store-url.ts';

export const optionalListen = z
  .string()
  .refine(
    text => parseHostPort(text, {allowZero: true}) !== undefined,
    'must be HOST:PORT with a port up to 65535, IPv6 in brackets, port 0 for any free one',
  );

export const listen = (fallback: string) => optionalListen.default(fallback);

export const server = z.string().refine(text => parseHostPort(text) !== undefined, 'must be host:port, IPv6 in brackets');

export const dnsServer = z
  .string()
  .refine(
    text => isIP(text) !== 0 || isIP(parseHostPort(text)?.host ?? '') !== 0,
    'must be an address, or ADDRESS:PORT with IPv6 in brackets',
  );

export const route = z
  .string()
  .refine(
    text => nodeIdPattern.test(text.split('=')[0] ?? '') && parseHostPort(text.slice(text.indexOf('=') + 1)) !== undefined,
    'must be NODE=HOST:PORT, IPv6 in brackets',
  );

export const absolutePath = z.string().regex(/^\/[^\0]*$/, 'must be an absolute path');
export const postfixLog = z.string().regex(/^(?:journal|\/[^\0]*)$/, 'must be an absolute path, or journal');
export const filePath = z.string().min(1, 'must name a file');

/** Bytes: a plain number, or one with K, M or G (binary). */
export const size = (fallback: number, min: number) =>
  z
    .union([z.int(), z.string()], 'must be a size such as 52428800 or 50M')
    .transform((value, context) => {
      const match = /^(\d{1,15})([KMG]?)$/i.exec(String(value));
      const bytes = match ? Number(match[1]) * 1024 ** ' KMG'.indexOf((match[2] || ' ').toUpperCase()) : Number.NaN;
      if (bytes >= min) return bytes;
      context.addIssue({code: 'custom', message: `must be a size of at least ${min} bytes, such as 50M`});
      return z.NEVER;
    })
    .default(fallback);

export const count = (fallback: number, max = 1_000_000) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(max, `must be at most ${max}`).default(fallback);
export const seconds = (fallback: number) => z.number('must be a number of seconds').min(0.1).max(86_400).default(fallback);

export const network = z.string().refine(text => {
  try {
    createNetworkSet([text]);
    return true;
  } catch {
    return false;
  }
}, 'must be an address or a network, such as 192.0.2.1 or 2001:db8::/32');

/** A unix socket or a TCP address for a program of this host. */
export const localListen = z
  .string()
  .refine(
    text => parseLocalAddress(text) !== undefined,
    'must be unix:/PATH of at most 107 bytes, or HOST:PORT with IPv6 in brackets',
  );

export const storeUrl = z.string().superRefine((text, context) => {
  const message = storeUrlFault(text);
  if (message !== undefined) context.addIssue({code: 'custom', message});
});

export const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

/** A text of one line for readers of reports. */
export const label = z.string().regex(/^[^\p{C}]{1,200}$/u, 'must be one line of at most 200 characters');

/** Without an end slash. */
export const pagesUrl = z
  .string()
  .refine(
    text => /^https:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/.test(text) && URL.canParse(text),
    'must begin with https:// and have no ? or #',
  )
  .transform(text => new URL(text).href.replace(/\/+$/, ''));

export const mailAddress = z.string().refine(text => parseMailAddress(text) !== undefined, 'must be a mail address');

/** With the domain as A-labels: servers that do not know SMTPUTF8 take it. */
export const asciiAddress = z
  .string()
  .transform(text => {
    const address = parseMailAddress(text);
    return address ? `${address.local}@${address.domain}` : '';
  })
  .refine(text => /^[\x21-\x7e]+$/.test(text), 'must be a mail address, with ASCII characters before its @');
