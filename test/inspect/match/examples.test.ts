import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import type { Detector } from '../../../src/inspect/patterns/detector.ts';
import { detectors } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

const limits = { matchesMax: 100, isOver: () => false };

/**
 * Tells whether the detector finds something that sets a class; of one that needs others, something that would. Alone, but for those that
 * it looks around.
 */
function finderOf(detector: Detector): (example: string) => boolean {
  const { near, needs } = detector;
  const others = detectors.filter(({ role }) => role !== undefined && near.includes(role));
  const engine = createEngine([detector, ...others.filter((other) => other.near.length === 0)]);
  return (example) => {
    const { matches, hints } = engine.find(Buffer.from(expandSample(example)), limits);
    return [...matches, ...hints].some(
      (match) => match.detector === detector && (needs.length > 0 || match.confidence !== 'low'),
    );
  };
}

for (const detector of detectors) {
  t.test(`${detector.id} finds its examples and passes the others`, (t) => {
    const finds = finderOf(detector);
    const isLow = detector.confidence === 'low' && detector.needs.length === 0;
    // Numbered, not quoted: an example that fails must not print what looks like a live token.
    examplesOf(detector).match.forEach((example, index) => {
      t.ok(isLow || finds(example), `match ${index + 1}`);
    });
    examplesOf(detector).pass.forEach((example, index) => {
      t.notOk(finds(example), `pass ${index + 1}`);
    });
    t.end();
  });
}
