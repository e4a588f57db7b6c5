import {faultsOfNodes} from './faults.ts';
import {testShort} from './short-faults.ts';

testShort(faultsOfNodes);
