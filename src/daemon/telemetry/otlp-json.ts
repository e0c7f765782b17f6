import { version } from '../../util/version.ts';
import type { Family, Sample } from '../metrics/families.ts';
import type { AttributeValue } from './attributes.ts';
import type { CallSpan } from './spans.ts';

/* Writes spans and metrics as OTLP 1.x in JSON, with ids in hex and numbers of 64 bits as text. */

const cumulative = 2;
const scope = { name: 'postern' };

export interface TelemetryOrigin {
  /** A text that tells processes of a daemon apart. */
  readonly instance: string;
  readonly startMs: number;
}

const toNano = (ms: number): string => `${Math.round(ms * 1000)}000`;

const toAttribute = ([key, value]: readonly [string, AttributeValue]): object => ({
  key,
  value: toValue(value),
});

function toValue(value: AttributeValue): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (typeof value === 'string') return { stringValue: value };
  return { arrayValue: { values: value.map((it) => ({ stringValue: it })) } };
}

const resourceOf = ({ instance }: TelemetryOrigin): object => ({
  attributes: Object.entries({
    'service.name': 'postern',
    'service.version': version(),
    'service.instance.id': instance,
  }).map(([key, stringValue]) => ({ key, value: { stringValue } })),
});

/** Returns the body of a request to `/v1/traces`. */
export const toTraces = (spans: readonly CallSpan[], origin: TelemetryOrigin): object => ({
  resourceSpans: [
    {
      resource: resourceOf(origin),
      scopeSpans: [
        {
          scope,
          spans: spans.map(({ startMs, endMs, attributes, isError, parentSpanId, ...span }) => ({
            ...span,
            ...(parentSpanId === undefined ? {} : { parentSpanId }),
            startTimeUnixNano: toNano(startMs),
            endTimeUnixNano: toNano(endMs),
            attributes: Object.entries(attributes).map(toAttribute),
            status: isError ? { code: 2 } : {},
          })),
        },
      ],
    },
  ],
});

/** Returns the body of a request to `/v1/metrics`. */
export const toMetrics = (families: readonly Family[], origin: TelemetryOrigin, nowMs: number): object => ({
  resourceMetrics: [
    {
      resource: resourceOf(origin),
      scopeMetrics: [
        {
          scope,
          metrics: families
            .filter((it) => it.values.length > 0)
            .map((family) =>
              toMetric(family, { startTimeUnixNano: toNano(origin.startMs), timeUnixNano: toNano(nowMs) }),
            ),
        },
      ],
    },
  ],
});

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

function toMetric({ name, help, type, values }: Family, times: Times): object {
  const described = { name, description: help, unit: name.endsWith('_seconds') ? 's' : '1' };
  if (type === 'histogram') {
    const series = Map.groupBy(values, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
    const dataPoints = [...series.values()].map((it) => toHistogram(it, times));
    return { ...described, histogram: { dataPoints, aggregationTemporality: cumulative } };
  }
  const dataPoints = values.map(({ value, labels }) => ({
    ...times,
    asDouble: value,
    attributes: toLabels(labels),
  }));
  return type === 'counter'
    ? { ...described, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
    : { ...described, gauge: { dataPoints } };
}

/** Turns the cumulative lines of Prometheus back into counts of each bucket. */
function toHistogram(lines: readonly Sample[], times: Times): object {
  const buckets = lines.filter((it) => it.metricName?.endsWith('_bucket'));
  const { le: _, ...labels } = buckets[0]?.labels ?? {};
  return {
    ...times,
    attributes: toLabels(labels),
    count: String(buckets.at(-1)?.value ?? 0),
    sum: lines.find((it) => it.metricName?.endsWith('_sum'))?.value ?? 0,
    bucketCounts: buckets.map((it, at) => String(it.value - (buckets[at - 1]?.value ?? 0))),
    explicitBounds: buckets.slice(0, -1).map((it) => Number(it.labels['le'])),
  };
}

const toLabels = (labels: Readonly<Record<string, string>>): object[] =>
  Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }));
