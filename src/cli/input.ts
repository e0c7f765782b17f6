import { createReadStream } from 'node:fs';

/** The content of the file, or of standard input; rejects above `bytesMax`. */
export async function readInput(file: string | undefined, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of file === undefined ? process.stdin : createReadStream(file)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`${file ?? 'standard input'} has more than ${bytesMax} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
