// Zip archives, as reports are sent in.
import {deflateRawSync} from 'node:zlib';

/** An archive (APPNOTE.TXT sections 4.3.7, 4.3.12 and 4.3.16). `claimed`: the size that it says a file has. */
export const archiveOf = (files: readonly {path: string; content: Buffer; claimed?: number}[]): Buffer => {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
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
    rest.writeUInt32LE(Buffer.concat(locals).length, 10);
    locals.push(Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, packed]));
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

export const zipOf = (content: Buffer, claimed = content.length, path = 'receiver.test!example.com.xml'): Buffer =>
  archiveOf([{path, content, claimed}]);
