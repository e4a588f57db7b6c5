import {deflateRawSync} from 'node:zlib';

export interface ArchivedFile {
  path: string;
  content: Buffer;
  /** The size that the archive says that the file has; that of its content without it. */
  claimed?: number;
}

/** A zip archive (APPNOTE.TXT sections 4.3.7, 4.3.12 and 4.3.16). */
export const archiveOf = (files: readonly ArchivedFile[]): Buffer => {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let atBytes = 0;
  for (const {path, content, claimed = content.length} of files) {
    const packed = deflateRawSync(content);
    const name = Buffer.from(path);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(claimed, 18);
    fields.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(atBytes, 10);
    const bytes = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, packed]);
    atBytes += bytes.length;
    locals.push(bytes);
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), fields, rest, name]));
  }
  const [local, central] = [Buffer.concat(locals), Buffer.concat(centrals)];
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from('PK\x05\x06'), end]);
};
