import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAuthority } from '../src/wire/tls/authority.ts';
import { createContexts } from '../src/wire/tls/contexts.ts';

/*
 * What a host that was not seen before costs: its leaf (goal: 0.12 ms), and the TLS context around it. Then
 * the memory of the process while new names keep coming. Run: node bench/leaf.ts
 */

const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
try {
  const authority = openAuthority({
    certFile: join(folder, 'ca.pem'),
    keyFile: join(folder, 'ca-key.pem'),
    nowMs: Date.now(),
  });
  report('leaf', 10_000, (count) => authority.issue(`host-${count}.example.com`, Date.now()));

  const contexts = createContexts(authority, { now: Date.now });
  report('context, new host', 3000, (count) => contexts.contextFor(`host-${count}.example.com`));
  report('context, known host', 1_000_000, () => contexts.contextFor('host-2999.example.com'));

  for (let count = 0; count < 20_000; count++) {
    contexts.contextFor(`flood-${count}.example.com`);
    // Dead native objects are let go between turns of the event loop, as they are between handshakes.
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  console.log(`after 20,000 new hosts: ${Math.round(process.memoryUsage.rss() / 1e6)} MB resident`);
} finally {
  rmSync(folder, { recursive: true });
}

/** The median of five rounds, after one that warms up. */
function report(name: string, count: number, work: (index: number) => unknown): void {
  const rounds = Array.from({ length: 6 }, () => {
    const start = performance.now();
    for (let index = 0; index < count; index++) work(index);
    return (performance.now() - start) / count;
  });
  const median = rounds.slice(1).sort((a, b) => a - b)[2] ?? 0;
  console.log(`${name}: ${median.toFixed(5)} ms`);
}
