import t from 'tap';
import { scanTimeMs } from '../../../src/inspect/parts/scan-time.ts';

t.test('what is longer than usual may be read for longer', async (t) => {
  const kilobyte = 1024;
  t.equal(scanTimeMs(250, 0), 250);
  t.equal(scanTimeMs(250, 256 * kilobyte), 250);
  t.equal(scanTimeMs(250, 512 * kilobyte), 500);
  t.equal(scanTimeMs(250, 32 * kilobyte * kilobyte), 2000, 'but not without end');
  t.equal(scanTimeMs(250, 128 * kilobyte, true), 500, 'what is packed becomes longer');
});
