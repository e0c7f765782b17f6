import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryAt } from '../../../src/risk/feeds/entries.ts';
import type { FeedFormat } from '../../../src/risk/feeds/formats/index.ts';
import type { IndicatorSet } from '../../../src/risk/feeds/index/indicator-set.ts';
import { newHashKey } from '../../../src/risk/feeds/index/keyed-hash.ts';
import { readFeed } from '../../../src/risk/feeds/read-feed.ts';

const key = newHashKey();

export const fixture = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, '../../fixtures/feeds', name));

export interface Reading {
  readonly chunkBytes?: number;
  readonly maxBytes?: number;
}

/** Reads a feed that comes in pieces of `chunkBytes`. Sets of one process share their key. */
export function read(
  format: FeedFormat,
  feed: string | Buffer,
  { chunkBytes = 1 << 20, maxBytes = 1 << 28 }: Reading = {},
): Promise<IndicatorSet> {
  async function* pieces(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(feed as Buffer);
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  return readFeed(pieces(), { format, key, maxBytes });
}

/** `kind indicator reference threat` of every entry. */
export function listOf(set: IndicatorSet): string[] {
  return Array.from({ length: set.entries.count }, (_, index) => {
    const { kind, indicator, reference, threat } = entryAt(set.entries, index);
    return [kind, indicator, reference || '-', threat || '-'].join(' ');
  });
}
