import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/* What other agents send meanwhile: real texts of installed packages, and content that is made to be dear. */

export interface Content {
  readonly contentType: string;
  readonly contentEncoding?: string;
  readonly body: Buffer;
}

const packages = resolve(import.meta.dirname, '../../node_modules');

/** Files whose names end so, one behind the other, until there are so many bytes. */
function filesOf(ending: RegExp, bytes: number): Buffer {
  const found: Buffer[] = [];
  let length = 0;
  for (const name of readdirSync(packages, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!ending.test(name)) continue;
    let file: Buffer;
    try {
      file = readFileSync(join(packages, name));
    } catch {
      continue;
    }
    if (file.length > 200_000) continue;
    found.push(file);
    length += file.length;
    if (length >= bytes) break;
  }
  const all = Buffer.concat(found);
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / all.length) }, () => all)).subarray(0, bytes);
}

function listOf(bytes: number, line: (at: number) => string): Buffer {
  const lines: string[] = [];
  for (let length = 0, at = 0; length < bytes; at++) {
    const next = line(at);
    lines.push(next);
    length += next.length;
  }
  return Buffer.from(lines.join(''));
}

/** Nothing is found in it, and everything is looked at: wrong checksums, wrong lengths, keywords without a value. */
const nearMiss = (at: number): string =>
  `ghp_${String(at).padStart(20, 'x')} card 4111 1111 1111 ${1112 + (at % 7)} password= api_key: ${'ab'.repeat(9)} iban DE00${at} AKIA${at}\n`;

function prepare(size: number): { readonly prose: Buffer; row(at: number): string } {
  const prose = filesOf(/\.md$/, size);
  const row = (at: number): string => {
    const from = (at * 97) % (size / 2);
    const words = prose.toString('latin1', from, from + 40).replace(/[^a-z ]/gi, '');
    return `${at},${words},2026-11-0${at % 9},${at * 7919}\n`;
  };
  return { prose, row };
}

const ofSizes: Readonly<Record<string, (bytes: number) => Content>> = {
  prose: (bytes) => ({ contentType: 'text/plain', body: prepare(bytes).prose }),
  JSON(bytes) {
    const pieces =
      prepare(bytes)
        .prose.toString('utf8')
        .match(/.{1,600}/gs) ?? [];
    const list = JSON.stringify(pieces.map((text, id) => ({ id, text })));
    return {
      contentType: 'application/json',
      body: Buffer.from(`${list.slice(0, list.lastIndexOf('},', bytes) + 1)}]`),
    };
  },
  base64: (bytes) => ({
    contentType: 'text/plain',
    body: Buffer.from(filesOf(/\.(?:png|node|wasm|gz|so)$/, (bytes * 3) / 4).toString('base64')),
  }),
  CSV(bytes) {
    const { row } = prepare(bytes);
    return {
      contentType: 'text/csv',
      body: listOf(bytes, (at) => (at === 0 ? 'id,name,born,number\n' : row(at))),
    };
  },
  'near-misses': (bytes) => ({ contentType: 'text/plain', body: listOf(bytes, nearMiss) }),
};

const sizes = { '250 KB': 250_000, '8 MB': 8_000_000 };
const zeros = (bytes: number): Buffer => Buffer.alloc(bytes);

const others: Readonly<Record<string, () => Content>> = {
  'gzip bomb': () => ({
    contentType: 'text/plain',
    contentEncoding: 'gzip',
    body: gzipSync(zeros(64 * 1024 * 1024)),
  }),
  'Brotli bomb': () => ({
    contentType: 'text/plain',
    contentEncoding: 'br',
    body: brotliCompressSync(zeros(64 * 1024 * 1024)),
  }),
  // Grows less than a hundred times, and is read.
  '7 MB in gzip': () => ({
    contentType: 'text/plain',
    contentEncoding: 'gzip',
    body: gzipSync(filesOf(/\.md$/, 250_000).toString('latin1').repeat(28)),
  }),
  'bomb in base64': () => ({
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify({ file: gzipSync(zeros(5_000_000)).toString('base64') })),
  }),
};

/** By their names; made when they are asked for. */
export const contents: ReadonlyMap<string, () => Content> = new Map([
  ...Object.entries(sizes).flatMap(([size, bytes]) =>
    Object.entries(ofSizes).map(([kind, make]) => [`${size} ${kind}`, () => make(bytes)] as const),
  ),
  ...Object.entries(others),
]);
