import { deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  /** 8 unless it says otherwise; all but 0 are deflated. */
  readonly method?: number;
  readonly flags?: number;
}

/** A ZIP file of these entries (APPNOTE 4.3), with `gap` before each but the first. */
export function zipOf(entries: readonly ZipEntry[], gap: Buffer = Buffer.alloc(0)): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  const add = (...buffers: readonly Buffer[]): void => {
    parts.push(...buffers);
    for (const { length } of buffers) at += length;
  };
  for (const { name, content, method = 8, flags = 0 } of entries) {
    if (at > 0) add(gap);
    const packed = method === 0 ? content : deflateRawSync(content);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(flags, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(content.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(at, 42);
    directory.push(central, Buffer.from(name));
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    add(local, Buffer.from(name), packed);
  }
  const start = at;
  add(...directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(at - start, 12);
  end.writeUInt32LE(start, 16);
  return Buffer.concat([...parts, end]);
}
