import { route } from '../route.ts';

/** `GET /healthz`: the process answers. */
export const health = route({
  method: 'GET',
  path: '/healthz',
  access: 'public',
  handle: () => ({ status: 200, body: { status: 'ok' } }),
});

/** `GET /readyz`: the gateway can judge calls, and under which configuration. */
export const ready = route({
  method: 'GET',
  path: '/readyz',
  access: 'public',
  handle({ gate }) {
    const { generation, loadedAtMs, lastError, isDraining } = gate.status();
    return {
      status: isDraining ? 503 : 200,
      body: {
        status: isDraining ? 'draining' : 'ready',
        checks: { state: 'ok' },
        config: { generation, loaded_at: new Date(loadedAtMs).toISOString(), last_error: lastError },
      },
    };
  },
});
