import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/* What other agents send meanwhile: real texts of installed packages, and content that is made to be dear. */

export interface Content {
  readonly name: string;
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

function contentsOf(size: string, bytes: number): Content[] {
  const prose = filesOf(/\.md$/, bytes);
  const files = JSON.stringify(
    prose
      .toString('utf8')
      .match(/.{1,600}/gs)
      ?.map((text, id) => ({ id, text })),
  );
  const rows = (at: number): string =>
    `${at},${prose.toString('latin1', (at * 97) % (bytes / 2), ((at * 97) % (bytes / 2)) + 40).replace(/[^a-z ]/gi, '')},2026-11-0${at % 9},${at * 7919}\n`;
  return [
    { name: `${size} prose`, contentType: 'text/plain', body: prose },
    {
      name: `${size} JSON`,
      contentType: 'application/json',
      body: Buffer.from(files.slice(0, files.lastIndexOf('},', bytes) + 1).concat(']')),
    },
    {
      name: `${size} base64`,
      contentType: 'text/plain',
      body: Buffer.from(filesOf(/\.(?:png|node|wasm|gz|so)$/, (bytes * 3) / 4).toString('base64')),
    },
    {
      name: `${size} CSV`,
      contentType: 'text/csv',
      body: listOf(bytes, (at) => (at === 0 ? 'id,name,born,number\n' : rows(at))),
    },
    { name: `${size} near-misses`, contentType: 'text/plain', body: listOf(bytes, nearMiss) },
  ];
}

const zeros = Buffer.alloc(64 * 1024 * 1024);
/** Grows less than a hundred times, and is read. */
const denseText = filesOf(/\.md$/, 250_000).toString('latin1').repeat(30);

export const contents: readonly Content[] = [
  ...contentsOf('250 KB', 250_000),
  ...contentsOf('8 MB', 8_000_000),
  { name: 'gzip bomb', contentType: 'text/plain', contentEncoding: 'gzip', body: gzipSync(zeros) },
  { name: 'Brotli bomb', contentType: 'text/plain', contentEncoding: 'br', body: brotliCompressSync(zeros) },
  {
    name: '7 MB in gzip',
    contentType: 'text/plain',
    contentEncoding: 'gzip',
    body: gzipSync(denseText),
  },
  {
    name: 'bomb in base64',
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify({ file: gzipSync(zeros.subarray(0, 5_000_000)).toString('base64') })),
  },
];
