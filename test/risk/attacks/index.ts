import { createRandom } from '../random.ts';
import type { Attack } from './attack.ts';
import { conduct } from './conduct.ts';
import { exfiltration } from './exfiltration.ts';
import { reach } from './reach.ts';

export type { Attack, Expected } from './attack.ts';
export { listedUrls } from './reach.ts';

/** All that is planted; the same for the same seed. */
export function plant(seed: string): readonly Attack[] {
  const random = createRandom(`${seed} attacks`);
  return [...exfiltration(random), ...conduct(random), ...reach(random)];
}
