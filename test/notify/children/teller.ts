import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.ts';
import { parseStateUrl } from '../../../src/config/sections/addresses.ts';
import { newTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { channels } from '../../../src/notify/channels/index.ts';
import { Notifications } from '../../../src/notify/notifications.ts';
import { Journal } from '../../../src/state/journal.ts';
import { openStore } from '../../../src/state/open.ts';
import { auditEvent, recordedCall } from '../../state/records.ts';
import { briefTimings, entry } from '../desk.ts';
import { transportWith } from '../lab.ts';

/*
 * A process that records denials and audit entries, says which it has recorded, and is killed at any moment: its journal is the queue
 * towards the state, and whoever comes after it tells what it has left.
 */

const [dir = '', stateUrl = '', hook = '', slot = '1'] = process.argv.slice(2);
const url = parseStateUrl(stateUrl);
if (!url) throw new Error('there is no state');
const log = pino({ level: 'silent' });
const address = url.driver === 'embedded' ? { ...url, dir: join(dir, 'state') } : url;
const store = await openStore({ url: address, dir, timeoutMs: 5_000, caFile: null, log });
const text = stringify({ tenants: [{ id: 'acme' }], notifications: [entry('hook', hook)] });
const config = parseConfig(text, { file: undefined, env: {} });
const notifications = new Notifications({
  store,
  config,
  channels,
  controlUrl: () => undefined,
  log,
  sweeps: true,
  alertUsage: async () => undefined,
  timings: { ...briefTimings, leaseMs: 1_000, sendTimeoutMs: 500 },
});
const journalDir = join(dir, `journal-${slot}`);
mkdirSync(journalDir, { recursive: true });
const journal = new Journal({
  dir: journalDir,
  ship: notifications.shipTo(store.recordCalls.bind(store)),
  onError: () => undefined,
  shipIntervalMs: 20,
});
await journal.flush();
notifications.use(config, transportWith());
notifications.start();

const say = (line: string): void => void writeSync(1, `${line}\n`);
say('ready');
for (;;) {
  const atMs = Date.now();
  const traceId = newTraceId(atMs);
  const line = JSON.stringify({
    trace_id: traceId,
    decision: 'DENY',
    risk_band: 'HIGH',
    tool_name: 'github',
  });
  await journal.append(
    recordedCall({ traceId, atMs, tenantId: 'acme', decision: 'DENY', line: ownName(line) }),
  );
  say(`call ${traceId}`);
  if (Math.random() < 0.2) {
    const subject = newTraceId(atMs);
    await store.appendAudit(auditEvent({ tenantId: 'acme', atMs, kind: 'key.created', subject }));
    say(`key ${subject}`);
    notifications.nudge('acme');
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
