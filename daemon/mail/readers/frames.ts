// Messages on a pipe: the lengths of both parts in four bytes each, JSON, and bytes. JSON cannot carry anything but data, whoever wrote it.
import type {Writable} from 'node:stream';

export interface Frame {
  message: unknown;
  bytes: Buffer;
}

const lengthsBytes = 8;
const none = Buffer.alloc(0);

/** False when the pipe is full. What is written at one time goes in one piece. */
export const writeFrame = (to: Writable, message: object, bytes: Buffer = none): boolean => {
  const json = Buffer.from(JSON.stringify(message));
  const lengths = Buffer.alloc(lengthsBytes);
  lengths.writeUInt32LE(json.length, 0);
  lengths.writeUInt32LE(bytes.length, 4);
  to.cork();
  process.nextTick(() => to.uncork());
  to.write(Buffer.concat([lengths, json]));
  return to.write(bytes);
};

/** A function for the next bytes of the pipe. It throws when a frame is larger than `maxBytes`, or invalid. */
export const createFrameReader = (take: (frame: Frame) => void, maxBytes: number): ((chunk: Buffer) => void) => {
  let chunks: Buffer[] = [];
  let sizeBytes = 0;
  let neededBytes = lengthsBytes;

  return chunk => {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    // Pieces of a large frame are put together once, not with each piece.
    if (sizeBytes < neededBytes) return;
    let rest: Buffer = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    for (neededBytes = sizeOf(rest, maxBytes); rest.length >= neededBytes; neededBytes = sizeOf(rest, maxBytes)) {
      const frame = rest.subarray(lengthsBytes, neededBytes);
      const jsonBytes = rest.readUInt32LE(0);
      rest = rest.subarray(neededBytes);
      take({message: JSON.parse(frame.toString('utf8', 0, jsonBytes)), bytes: frame.subarray(jsonBytes)});
    }
    chunks = [rest];
    sizeBytes = rest.length;
  };
};

/** Of the frame that begins here, as far as that is known. */
const sizeOf = (bytes: Buffer, maxBytes: number): number => {
  if (bytes.length < lengthsBytes) return lengthsBytes;
  const size = lengthsBytes + bytes.readUInt32LE(0) + bytes.readUInt32LE(4);
  if (size > maxBytes) throw new Error(`a message of ${size} bytes is too large`);
  return size;
};
