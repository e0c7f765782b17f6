import { z } from 'zod';
import { version } from '../../util/version.ts';
import { time, toIso } from '../fields/fields.ts';
import { RawAnswer, routesOf } from '../route.ts';

const route = routesOf('health');

/** Version of the running process; the package on disk may be newer by now. */
const running = version();

/** `GET /healthz` answers `ok` as long as the process answers at all. */
export const health = route('GET /healthz', {
  summary: 'Whether the process answers',
  access: 'public',
  answer: z.object({ status: z.literal('ok') }),
  handle: () => ({ status: 'ok' as const }),
});

const readiness = z.object({
  status: z.enum(['ready', 'draining', 'degraded']),
  code: z.enum(['SHUTTING_DOWN', 'STATE_UNAVAILABLE']).optional().describe('Why it is not ready'),
  version: z.string().describe('Of Postern'),
  checks: z.object({ state: z.string().describe('ok, or what is wrong') }),
  config: z.object({ generation: z.int(), loaded_at: time, last_error: z.string().nullable() }),
});

/** `GET /readyz` tells whether calls can be judged, and under which configuration; 503 where they cannot. */
export const ready = route('GET /readyz', {
  summary: 'Whether the gateway can judge calls',
  access: 'public',
  answer: readiness,
  otherStatus: 503,
  async handle({ gate }) {
    const { generation, loadedAtMs, lastError, isDraining } = gate.status();
    const trouble = await gate.store.trouble();
    const answer: z.infer<typeof readiness> = {
      status: isDraining ? 'draining' : trouble === undefined ? 'ready' : 'degraded',
      version: running,
      checks: { state: trouble ?? 'ok' },
      config: { generation, loaded_at: toIso(loadedAtMs), last_error: lastError },
    };
    if (answer.status === 'ready') return answer;
    const code = isDraining ? 'SHUTTING_DOWN' : 'STATE_UNAVAILABLE';
    return RawAnswer.of(503, { ...answer, code });
  },
});
