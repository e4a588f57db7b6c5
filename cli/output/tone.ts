import type {Health} from '../../shared/health.ts';

export type Tone = 'good' | 'warn' | 'bad';

export const healthTones: Record<Health, Tone> = {online: 'good', stale: 'warn', offline: 'bad'};

const codes: Record<Tone, number> = {good: 32, warn: 33, bad: 31};

export const paint = (text: string, tone: Tone): string => `\x1b[${codes[tone]}m${text}\x1b[39m`;
