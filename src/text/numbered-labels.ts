import { isDigit } from '../scan/bytes.ts';
import { blockFlags } from '../scan/outline.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';

/** A host name has at most 255 bytes (RFC 1035, 2.3.4). */
const hostBytesMax = 255;
const slash = 0x2f;
const labels = /(?:\d{1,2}-[A-Za-z0-9]{1,62}\.){1,30}\d{1,2}-[A-Za-z0-9]{1,62}/y;
const number = /(?<=^|\.)\d{1,2}-/g;

/** A value in the labels of a host name, each of which begins with its number: `0-abc….1-def….example.com`. */
export const numberedLabels: BlockDecoder = {
  name: 'labels',
  needs: blockFlags.encoded,
  mayHold: ({ bytes, runs }) => runs.some(({ start }) => isDigit(bytes[start]) || bytes[start] === slash),
  *find({ bytes, runs }: EncodedText, budget: Budget): Iterable<Block> {
    let end = 0;
    for (const run of runs) {
      let { start } = run;
      while (bytes[start] === slash) start += 1;
      if (start < end || !isDigit(bytes[start])) continue;
      labels.lastIndex = 0;
      const found = labels.exec(bytes.toString('latin1', start, start + hostBytesMax))?.[0];
      budget.work(hostBytesMax);
      if (found === undefined) continue;
      end = start + found.length;
      yield { start, end, bytes: Buffer.from(found.replace(number, '').replaceAll('.', ''), 'latin1') };
    }
  },
};
