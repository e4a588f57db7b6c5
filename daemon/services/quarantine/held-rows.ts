// Held mails on their way into a list, as the JSON they already are: taken apart and written anew they cost more than all else of a
// list. A row in the form in which nodes write them is checked where it stands, by one expression that matches nothing but a held
// mail; every other form is left to the schema.
import {z} from 'zod';
import {type HeldMail, heldMailSchema} from '../../../shared/held-mail.ts';
import {reasons} from '../../../shared/reason.ts';
import type {HeldRow, HeldRows} from '../ports.ts';
import {type ByteText, byteTextIn, toByteText} from './byte-text.ts';

export const heldRowOf = (mail: HeldMail): HeldRow => ({
  arrived_at: mail.arrived_at,
  node_id: mail.node_id,
  queue_id: mail.queue_id,
  json: toByteText(JSON.stringify(mail)),
});

/** A JSON array of the rows. */
export const heldRowsJson = (rows: readonly HeldRow[]): ByteText => `[${rows.map(({json}) => json).join(',')}]` as ByteText;

/** The rows of a JSON array of held mails of `nodeId`, and where the text goes on behind it. Undefined where the form is another. */
export type ReadHeldRows = (text: ByteText, from: number) => {rows: HeldRow[]; end: number} | undefined;

/** An expression keeps its way back for every escape of a text, and the room for that is not endless. */
const maxTextLength = 4 * 1024 * 1024;

export const createReadHeldRows = (nodeId: string): ReadHeldRows => {
  const row = rowPattern(nodeId);
  const rowAt = (text: ByteText, at: number): HeldRow | undefined => {
    row.lastIndex = at;
    const [json, queue_id, arrived_at] = row.exec(text) ?? [];
    if (json === undefined || queue_id === undefined || arrived_at === undefined) return undefined;
    return {arrived_at, node_id: nodeId, queue_id, json: json as ByteText};
  };

  return (text, from) => {
    if (text.length > maxTextLength) return undefined;
    if (text.startsWith('[]', from)) return {rows: [], end: from + 2};
    const rows: HeldRow[] = [];
    for (let at = from; text[at] === (rows.length === 0 ? '[' : ','); ) {
      const next = rowAt(text, at + 1);
      if (!next) return undefined;
      rows.push(next);
      at += 1 + next.json.length;
      if (text[at] === ']') return {rows, end: at + 1};
    }
    return undefined;
  };
};

/** What a list of another node's held mails is answered with, in any form. */
export const heldRowsAnswer = (nodeId: string) =>
  z.object({
    mails: z.array(z.object({...heldMailSchema.shape, node_id: z.literal(nodeId)}).transform(heldRowOf)),
    total: z.int().min(0),
  });

/** The same, quickly: of a whole envelope in the form in which nodes write it. */
export const createReadHeldAnswer = (nodeId: string): ((bytes: Buffer) => HeldRows | undefined) => {
  const read = createReadHeldRows(nodeId);
  const [before, behind] = ['{"data":{"mails":', /^,"total":(0|[1-9]\d{0,14})\},"error":null,"message":"OK"\}$/];
  return bytes => {
    const text = byteTextIn(bytes);
    const found = text?.startsWith(before) ? read(text, before.length) : undefined;
    const total = found && behind.exec(text?.slice(found.end) ?? '')?.[1];
    return found && total !== undefined ? {mails: found.rows, total: Number(total)} : undefined;
  };
};

const string = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*"`;
const strings = String.raw`\[(?:${string}(?:,${string})*)?\]`;
const count = String.raw`(?:0|[1-9]\d{0,14})`;
const number = String.raw`-?${count}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?`;
/** Not the 29th of February, which is not of every year: the schema knows. */
const date = String.raw`\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`;
const timestamp = String.raw`${date}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z`;

const rowPattern = (nodeId: string): RegExp => {
  const members: Record<keyof HeldMail, string> = {
    node_id: `"${nodeId.replace(/[.-]/g, String.raw`\$&`)}"`,
    queue_id: '"([0-9A-Za-z]{6,64})"',
    sender: string,
    recipients: strings,
    subject: string,
    score: number,
    symbols: strings,
    reason: `"(?:${reasons.join('|')})"`,
    size_bytes: count,
    arrived_at: `"(${timestamp})"`,
  };
  const all = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
  return new RegExp(String.raw`\{${all.join(',')}\}`, 'y');
};
