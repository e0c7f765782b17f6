import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { RawAnswer, routesOf } from '../route.ts';

const route = routesOf('health');

const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * `GET /metrics` is what Prometheus scrapes. It asks for no key, as the probes beside it do. The numbers are
 * totals of the whole daemon, and no label names a tenant, an agent, a host or a channel. `telemetry.metrics:
 * false` turns it off.
 */
export const metrics = route('GET /metrics', {
  summary: 'Counts and times of the daemon for Prometheus',
  access: 'public',
  answer: z.string(),
  answerTypes: [contentType],
  async handle({ gate }) {
    if (!gate.config.telemetry.metrics)
      throw new GatewayError('NOT_FOUND', 'Metrics are turned off: telemetry.metrics is false.');
    return new RawAnswer(200, Buffer.from(await gate.metrics.text()), contentType);
  },
});
