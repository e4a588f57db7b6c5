/** The bytes of a stream. Reading stops with the chunk that exceeds `maxBytes`, and closes the stream. */
export const readUpTo = async (stream: AsyncIterable<Buffer | string>, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(chunks);
};
