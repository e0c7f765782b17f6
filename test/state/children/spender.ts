import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { newTraceId } from '../../../src/core/ids.ts';
import { openEmbeddedStore } from '../../../src/state/embedded/store.ts';
import { Journal } from '../../../src/state/journal.ts';
import { admitRequest, recordedCall, termsOf } from '../records.ts';

/*
 * Spends uses and quota with both keys in so many rounds, if it is not killed before, and says of each call that it was let out: `call round key`. As the gateway
 * does, it ships what an earlier process left behind before it asks for anything.
 */

const [dir = '', rounds = '', ...hashes] = process.argv.slice(2);
const nowMs = Date.UTC(2031, 4, 10, 12);
const terms = termsOf({ scansPerMonth: 400 });

const store = await openEmbeddedStore({ dir });
const journal = new Journal({
  dir: join(dir, 'journal'),
  ship: store.recordCalls,
  onError: (error) => writeSync(1, `error ${error}\n`),
  segmentBytesMax: 5_000,
  shipIntervalMs: 5,
  shipBatchBytes: 2_000,
});
await journal.flush();

async function spend(round: number, keyHash: string): Promise<void> {
  const chargesOf = () => [{ name: 'spent', day: '2031-05-10', amount: 3, daily: 1_000 }];
  const admission = await store.admit(admitRequest({ keyHash, nowMs, termsOf: terms, chargesOf }));
  if (!admission.ok) return;
  const { charges } = admission;
  const { keyId, agentId } = admission.identity;
  const decision = round % 3 === 1 ? 'DENY' : 'ALLOW';
  const call = { traceId: newTraceId(nowMs), keyId, agentId, atMs: nowMs, decision, charges } as const;
  await journal.append(recordedCall(call));
  writeSync(1, `call ${round} ${keyId}\n`);
}

for (let round = 0; round < Number(rounds); round += 1) {
  await Promise.all(hashes.map((keyHash) => spend(round, keyHash)));
  // Calls come from a network: other turns pass between them.
  await new Promise(setImmediate);
}
process.stdin.resume();
