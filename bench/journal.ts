// What a call's record costs the process with all its threads, in microseconds: appended to the journal, shipped out of its files, looked
// through for what channels want to be told (denials, of which there are none), stored and findable; each drained to its end. `node bench/journal.ts`
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, newTraceId } from '../src/core/ids.ts';
import { ownName } from '../src/core/safe-name.ts';
import { createOutbox } from '../src/notify/outbox.ts';
import { openEmbeddedStore } from '../src/state/embedded/store.ts';
import { Journal, type JournalOptions } from '../src/state/journal.ts';
import type { RecordedCall } from '../src/state/store.ts';

const callsPerRound = 50_000;
const rounds = 6;
// One for all: making lines is not measured, nor is the garbage collector's walk through 50,000 of them.
const line = JSON.stringify({ trace_id: newId(), explanation: 'x'.repeat(630) });
const agentIds = Array.from({ length: 20 }, newId);

const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
const store = await openEmbeddedStore({ dir });
const outbox = createOutbox({
  wanted: () => new Map([['DENY', 'LOW']] as const),
  tell: async () => undefined,
});
const setUps: Record<string, Partial<JournalOptions>> = {
  append: { shipIntervalMs: 1e9, shipBatchBytes: 1e9 },
  'append + ship': {},
  'append + ship + notices': { ship: outbox(async () => 0) },
  together: { ship: store.recordCalls },
};

try {
  for (const perTurn of [1, 32]) {
    const us = new Map<string, number>();
    // Interleaved, and the least of each: the noise of a shared machine only adds.
    for (let round = 0; round < rounds; round++) {
      for (const [name, options] of Object.entries(setUps)) {
        us.set(name, Math.min(us.get(name) ?? Infinity, await measure(perTurn, options)));
      }
    }
    const { append = 0, 'append + ship': shipped = 0, together = 0, ...more } = Object.fromEntries(us);
    const notices = (more['append + ship + notices'] ?? 0) - shipped;
    const costs = { append, ship: shipped - append, notices, store: together - shipped, together };
    const columns = Object.entries(costs).map(([name, cost]) => `${name} ${cost.toFixed(2)}`);
    console.log(`${String(perTurn).padStart(2)} a turn: ${columns.join(', ')} us a call`);
  }
} finally {
  await store.close();
  rmSync(dir, { recursive: true });
}

async function measure(perTurn: number, options: Partial<JournalOptions>): Promise<number> {
  const journalDir = mkdtempSync(join(dir, 'journal-'));
  const onError = (error: unknown): void => console.error(error);
  const journal = new Journal({ dir: journalDir, ship: async () => 0, onError, ...options });
  const calls = Array.from({ length: callsPerRound }, callOf);
  const began = cpuUs();
  for (let at = 0; at < calls.length; at += perTurn) {
    let written: Promise<void> | undefined;
    for (const call of calls.slice(at, at + perTurn)) written = journal.append(call);
    await written;
  }
  // Where nothing is to be shipped, closing would do it.
  if (options.shipIntervalMs === undefined) await journal.flush();
  const spent = cpuUs() - began;
  await journal.close();
  return spent / callsPerRound;
}

/** Ids grow by a millisecond every 16 calls, as at 16,000 calls a second. */
function callOf(_: unknown, at: number): RecordedCall {
  const atMs = Date.now() + Math.floor(at / 16);
  const traceId = newTraceId(atMs);
  return {
    traceId,
    tenantId: 'bench',
    agentId: agentIds[at % agentIds.length] ?? '',
    atMs,
    keyId: agentIds[0] ?? '',
    decision: 'ALLOW',
    outcome: 'call',
    destination: ownName(`host-${at % 50}.example.com`),
    line: ownName(line),
  };
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
