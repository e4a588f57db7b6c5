import type {Fault} from './fault.ts';
import {hostileHttp} from './hostile-http.ts';
import {hostileSmtp} from './hostile-smtp.ts';
import {matrix} from './matrix.ts';

export const faults: readonly Fault[] = [hostileSmtp, hostileHttp, matrix];
