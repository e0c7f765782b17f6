import t from 'tap';
import type { Detector } from '../../src/detectors/detector.ts';
import { createEngine } from '../../src/detectors/engine.ts';
import { loadDetectors } from '../../src/detectors/load.ts';
import { expandSample } from '../../src/detectors/samples.ts';

const detectors = loadDetectors(new URL('../../config/detectors', import.meta.url).pathname);
const limits = { matchesMax: 100, isOver: () => false };

/** Whether the detector, on its own, finds something that sets a class. */
function finds(detector: Detector, example: string): boolean {
  const { matches } = createEngine([detector]).find(Buffer.from(expandSample(example)), limits);
  return matches.some(({ confidence }) => confidence !== 'low');
}

for (const detector of detectors) {
  t.test(`${detector.id} finds its examples and passes the others`, (t) => {
    const isLow = detector.confidence === 'low';
    // Numbered, not quoted: an example that fails must not print what looks like a live token.
    detector.examples.match.forEach((example, index) => {
      t.ok(isLow || finds(detector, example), `match ${index + 1}`);
    });
    detector.examples.pass.forEach((example, index) => {
      t.notOk(finds(detector, example), `pass ${index + 1}`);
    });
    t.end();
  });
}
