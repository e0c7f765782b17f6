import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { openEmbeddedStore } from '../../../src/state/embedded/store.ts';
import { agentRecord, auditEvent, keyRecord } from '../records.ts';

/* Runs under a limit on the size of files (ulimit -f): writes until one fails, then waits until it is told to go on. */

const store = await openEmbeddedStore({ dir: process.argv[2] ?? '' });
const agent = await store.ensureAgent(agentRecord());
const say = (text: string): void => void writeSync(1, `${text}\n`);

async function addKey(): Promise<string | undefined> {
  const key = keyRecord({ agentId: agent.agentId });
  try {
    await store.addKey(key, auditEvent());
    return undefined;
  } catch (error) {
    const isKnown = 'key' in (await store.identify(key.hash, 1));
    return `${(error as { code: string }).code}, memory ${isKnown ? 'ahead of the disk' : 'unchanged'}`;
  }
}

let failure: string | undefined;
while (failure === undefined) failure = await addKey();
say(`full ${failure}`);
await once(process.stdin, 'data');
say(`again ${(await addKey()) ?? 'writable'}`);
