import test from 'ava';
import {holdFile} from '../../../../daemon/hold/postfix/hold-file.ts';

const fileOf = (queueId: string, hashQueueNames: string, hashQueueDepth: string) =>
  holdFile({queueDirectory: '/q', hashQueueNames, hashQueueDepth}, queueId);

test('the file is in the folder of the hold queue, or in folders below it where main.cf says so', t => {
  t.is(fileOf('4jXqR83pRmzJPs0', 'deferred, defer', '1'), '/q/hold/4jXqR83pRmzJPs0');
  t.is(fileOf('4jXqR83pRmzJPs0', '', '1'), '/q/hold/4jXqR83pRmzJPs0');
  // As stored by Postfix 3.7.
  t.is(fileOf('4jXqR83pRmzJPs0', 'hold deferred', '2'), '/q/hold/8/3/4jXqR83pRmzJPs0');
  t.is(fileOf('4jXqR845cKzJPnH', 'deferred,HOLD', '2'), '/q/hold/8/D/4jXqR845cKzJPnH');
  t.is(fileOf('4jXqR84DkFzJPnJ', 'hold', '1'), '/q/hold/9/4jXqR84DkFzJPnJ');
  t.is(fileOf('87540214025', 'hold', '3'), '/q/hold/8/7/5/87540214025');
  t.is(fileOf('4jXqR83pRmzJPs0', 'hold', '6'), '/q/hold/8/3/0/3/4/_/4jXqR83pRmzJPs0');
});
