import { writeSync } from 'node:fs';
import { ownName } from '../../../src/core/safe-name.ts';
import { Journal } from '../../../src/state/journal.ts';
import { recordedCall } from '../records.ts';

/* Runs under a limit on the size of files (ulimit -f): appends until it is refused, then something short that still fits. */

const say = (text: string): void => void writeSync(1, `${text}\n`);
const journal = new Journal({
  dir: process.argv[2] ?? '',
  ship: () => Promise.reject(new Error('away')),
  onError: () => {},
  shipIntervalMs: 1_000_000,
});

async function append(length: number): Promise<string | undefined> {
  const call = recordedCall({ line: ownName(JSON.stringify({ text: 'x'.repeat(length) })) });
  try {
    await journal.append(call);
    say(`accepted ${call.traceId}`);
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

let refusal: string | undefined;
while (refusal === undefined) refusal = await append(9_000);
say(`refused ${refusal}`);
say(`short ${(await append(10)) ?? 'accepted'}`);
setInterval(() => {}, 1_000_000);
