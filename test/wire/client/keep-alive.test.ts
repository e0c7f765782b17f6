import t from 'tap';
import { keptMs } from '../../../src/wire/client/keep-alive.ts';

t.test('keeps a connection a second less than the upstream says, and five minutes at most', async (t) => {
  const cases = [
    { fields: ['Keep-Alive', 'timeout=5, max=100'], want: 4000 },
    { fields: ['Connection', 'keep-alive', 'KEEP-ALIVE', 'max=100 , Timeout = "60"'], want: 59_000 },
    { fields: ['keep-alive', 'timeout=1'], want: 0 },
    { fields: ['Keep-Alive', 'timeout=0'], want: 0 },
    { fields: ['Keep-Alive', 'timeout=301'], want: 300_000 },
    { fields: ['Keep-Alive', 'timeout=99999999999999999999'], want: 300_000 },
    { fields: ['Keep-Alive', 'max=5', 'Keep-Alive', 'timeout=3'], want: 2000 },
    { fields: ['Keep-Alive', 'timeout=-5'], want: 30_000 },
    { fields: ['Keep-Alive', 'xtimeout=5'], want: 30_000 },
    { fields: ['X-Keep-Alive', 'timeout=5', 'Connection', 'keep-alive'], want: 30_000 },
    { fields: [], want: 30_000 },
  ];
  for (const { fields, want } of cases) t.equal(keptMs(fields, 30_000), want, fields.join(' '));
});
