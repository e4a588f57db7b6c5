// What a node and its thread for signatures tell each other. Each check and each question has a number, given by who asks.

import type {Lookup} from '../lookup.ts';
import type {SignatureCheck} from '../readers/check-signatures.ts';

export type ToThread =
  | {check: number; mail: Uint8Array}
  | {question: number; records: unknown[]}
  | {question: number; code: string};

export type FromThread =
  /** The first message: it has loaded its code. */
  | {check: 0}
  | {check: number; question: number; asked: Parameters<Lookup>}
  | {check: number; result: SignatureCheck}
  | {check: number; error: unknown};
