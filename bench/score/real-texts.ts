import { pathsBelow, readBenign, shuffled } from '../benign/files.ts';
import { randomFrom } from '../benign/random.ts';

const modules = new URL('../../node_modules', import.meta.url).pathname;
const kinds = ['JavaScript', 'readme', 'JSON', 'declarations', 'changelog', 'YAML and TOML'];
const textBytesMax = 12_000;

/** JSON bodies of about so many bytes, made of the texts of installed packages: code, documents and data. Other ones for every seed. */
export function realBodies(count: number, bodyBytes: number, seed: number): readonly Buffer[] {
  const random = randomFrom(seed);
  const byKind = pathsBelow([modules], random);
  const paths = shuffled(
    kinds.flatMap((kind) => (byKind.get(kind) ?? []).map((path) => ({ kind, path }))),
    random,
  ).values();
  return Array.from({ length: count }, () => {
    const messages: { role: string; content: string }[] = [];
    for (let bytes = 0; bytes < bodyBytes; ) {
      const next = paths.next();
      if (next.done) break;
      const file = readBenign(next.value.kind, next.value.path, Math.min(textBytesMax, bodyBytes));
      if (!file?.isText) continue;
      messages.push({ role: 'tool', content: file.bytes.toString() });
      bytes += file.bytes.length;
    }
    return Buffer.from(JSON.stringify({ model: 'm', messages }));
  });
}
