// The process behind startBareBackend.
import type {AddressInfo} from 'node:net';
import {createBareBackend} from './bare-backend.ts';

const server = createBareBackend();
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
