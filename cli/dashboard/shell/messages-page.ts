// Page of messages: the connection, present problems, and earlier messages.

import type {Tone} from '../../output/column.ts';
import {clockText} from '../list/moment-cells.ts';
import {wrapText} from './fit-text.ts';
import type {Page} from './modal.ts';
import type {Theme} from './theme.ts';

export interface SaidMessage {
  text: string;
  tone: Tone | undefined;
  atMs: number;
}

/** The number of messages that are kept. */
export const maxMessages = 100;

interface MessagesFacts {
  /** The state of the connection, in words. */
  status: string;
  /** Present problems and waiting actions. */
  present: readonly {text: string; tone: Tone | undefined}[];
  /** Oldest first. */
  said: readonly SaidMessage[];
}

export const messagesPage = ({status, present, said}: MessagesFacts, theme: Theme): Page => ({
  kind: 'page',
  title: 'Messages',
  lines: width => {
    const entry = (label: string, text: string, tone: Tone | undefined): string[] =>
      wrapText(text, width - gutter).map(
        (line, at) => theme(at === 0 ? label.padEnd(gutter) : ' '.repeat(gutter), 'dim') + theme(line, tone),
      );
    return [
      ...entry('Now', status, undefined),
      ...present.flatMap(({text, tone}) => entry('', text, tone)),
      '',
      theme('Messages, newest first', 'bold'),
      ...(said.length === 0 ? ['none so far'] : []),
      ...said.toReversed().flatMap(({text, tone, atMs}) => entry(clockText(atMs), text, tone)),
    ];
  },
});

/** Indentation of texts in cells. */
const gutter = 11;
