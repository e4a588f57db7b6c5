import type {Fault} from './fault.ts';
import {hostileHttp} from './hostile-http.ts';
import {hostileMilter} from './hostile-milter.ts';
import {hostileSmtp} from './hostile-smtp.ts';
import {matrix} from './matrix.ts';
import {slowloris} from './slowloris.ts';

export const faults: readonly Fault[] = [hostileSmtp, hostileHttp, hostileMilter, slowloris, matrix];
