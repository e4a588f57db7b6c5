import {hostileInput} from './faults.ts';
import {testShort} from './short-faults.ts';

testShort(hostileInput);
