import {faultsOfPostgres} from './faults.ts';
import {testShort} from './short-faults.ts';

testShort(faultsOfPostgres);
