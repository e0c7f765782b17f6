import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/state/embedded/store.ts';
import { Journal } from '../../../src/state/journal.ts';
import { agentRecord, approvalRecord, auditEvent, keyRecord, policyApply, recordedCall } from '../records.ts';

/*
 * Writes until it is killed, and says each thing once it is acknowledged: `kind round id extra`. Calls are shipped rarely, so
 * that most of them stand only in the journal when the end comes.
 */

const dir = process.argv[2] ?? '';
const say = (...words: (string | number)[]): void => void writeSync(1, `${words.join(' ')}\n`);

const store = await openEmbeddedStore({ dir });
const journal = new Journal({
  dir: join(dir, 'journal'),
  ship: store.recordCalls,
  onError: (error) => say('error', 0, String(error)),
  segmentBytesMax: 20_000,
  shipIntervalMs: 5,
  shipBatchBytes: 5_000,
});
const agent = await store.ensureAgent(agentRecord());

async function writeKey(round: number): Promise<void> {
  const key = keyRecord({ agentId: agent.agentId });
  await store.addKey(key, auditEvent());
  say('key', round, key.keyId, key.hash);
  if (round % 2 === 0) return;
  await store.revokeKey('acme', key.keyId, auditEvent());
  say('revoked', round, key.keyId, key.hash);
}

async function writePolicy(round: number): Promise<void> {
  const policy = await store.applyPolicy(policyApply({ name: `p${round % 3}` }), auditEvent());
  say('policy', round, policy.name, policy.version);
}

async function writeApproval(round: number): Promise<void> {
  const { approval } = await store.holdCall(approvalRecord());
  say('approval', round, approval.approvalId);
}

async function writeCall(round: number): Promise<void> {
  const call = recordedCall({ agentId: agent.agentId });
  await journal.append(call);
  say('call', round, call.traceId);
}

for (let round = 0; ; round += 1) {
  await Promise.all([
    writeKey(round),
    writePolicy(round),
    writeApproval(round),
    writeCall(round),
    writeCall(round),
  ]);
}
