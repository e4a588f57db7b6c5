// Standard input of a terminal whose reads are controlled by the test.
import {Readable} from 'node:stream';

export interface FakeInput {
  stream: NodeJS.ReadStream;
  /** The text of one read. */
  give(text: string): void;
  isRaw(): boolean;
}

export const fakeInput = (): FakeInput => {
  let isRaw = false;
  const setRawMode = (raw: boolean) => {
    isRaw = raw;
  };
  const stream = Object.assign(new Readable({read: () => undefined}), {setRawMode});
  return {stream: stream as unknown as NodeJS.ReadStream, give: text => void stream.push(text), isRaw: () => isRaw};
};
