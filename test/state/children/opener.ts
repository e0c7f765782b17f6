import { writeSync } from 'node:fs';
import { openEmbeddedStore } from '../../../src/state/embedded/store.ts';

/* Opens the state and says whether it could. */

try {
  const store = await openEmbeddedStore({ dir: process.argv[2] ?? '' });
  writeSync(1, 'opened\n');
  await store.close();
} catch (error) {
  writeSync(1, `refused ${(error as { code: string }).code}\n`);
}
