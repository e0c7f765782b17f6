import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { z } from 'zod';

/*
 * An OTLP collector for tests. It takes what the protocol's JSON form allows (opentelemetry-proto 1.x) and nothing else: an unknown field,
 * a number of 64 bits that is no text, or an id of another length is answered 400, as a mistake of the sender.
 */

const int64 = z.string().regex(/^\d{1,20}$/);
const hex = (digits: number) => z.string().regex(new RegExp(`^(?!0{${digits}})[0-9a-f]{${digits}}$`));
const scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
  z.strictObject({ doubleValue: z.number() }),
]);
const anyValue = z.union([
  scalar,
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(scalar) }) }),
]);
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: anyValue }))
  .refine((all) => new Set(all.map((it) => it.key)).size === all.length, 'keys are unique');
const resource = z.strictObject({ attributes });
const scope = z.strictObject({ name: z.string() });

const span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16).optional(),
    name: z.string().min(1),
    kind: z.int().min(0).max(5),
    startTimeUnixNano: int64,
    endTimeUnixNano: int64,
    attributes,
    status: z.strictObject({ code: z.literal([0, 1, 2]).optional() }),
  })
  .refine((it) => BigInt(it.endTimeUnixNano) >= BigInt(it.startTimeUnixNano), 'it ends after it begins');
export const tracesRequest = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource,
      scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })),
    }),
  ),
});

const point = { startTimeUnixNano: int64, timeUnixNano: int64, attributes };
const numbers = z.array(z.strictObject({ ...point, asDouble: z.number() })).min(1);
const histograms = z
  .array(
    z
      .strictObject({
        ...point,
        count: int64,
        sum: z.number(),
        bucketCounts: z.array(int64),
        explicitBounds: z.array(z.number()),
      })
      .refine((it) => it.bucketCounts.length === it.explicitBounds.length + 1, 'one bucket more than bounds')
      .refine(
        (it) => it.bucketCounts.reduce((sum, n) => sum + Number(n), 0) === Number(it.count),
        'its count',
      ),
  )
  .min(1);
const described = { name: z.string().min(1), description: z.string(), unit: z.string() };
const cumulative = z.literal(2);
const metric = z.union([
  z.strictObject({ ...described, gauge: z.strictObject({ dataPoints: numbers }) }),
  z.strictObject({
    ...described,
    sum: z.strictObject({
      dataPoints: numbers,
      aggregationTemporality: cumulative,
      isMonotonic: z.boolean(),
    }),
  }),
  z.strictObject({
    ...described,
    histogram: z.strictObject({ dataPoints: histograms, aggregationTemporality: cumulative }),
  }),
]);
export const metricsRequest = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({ resource, scopeMetrics: z.array(z.strictObject({ scope, metrics: z.array(metric) })) }),
  ),
});

export type ReceivedSpan = z.output<typeof span>;

export interface Collector {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Names of metrics. */
  readonly metrics: ReadonlySet<string>;
  /** All bodies, as they came. */
  readonly texts: readonly string[];
  /** Of each request. */
  readonly heads: readonly IncomingHttpHeaders[];
  readonly mistakes: readonly string[];
  /** The status of further answers; 200 at first. */
  answerWith(status: number): void;
  /** Resolves when so many spans have come. */
  has(spans: number): Promise<void>;
}

export async function startCollector(t: Test): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const metrics = new Set<string>();
  const [texts, mistakes]: [string[], string[]] = [[], []];
  const heads: IncomingHttpHeaders[] = [];
  let status = 200;
  let wake = (): void => {};
  const take = (path: string | undefined, type: string | undefined, text: string): void => {
    if (type !== 'application/json') throw new Error(`the content type is ${type}`);
    if (path === '/v1/traces') {
      const { resourceSpans } = tracesRequest.parse(JSON.parse(text));
      for (const { scopeSpans } of resourceSpans) for (const it of scopeSpans) spans.push(...it.spans);
    } else if (path === '/v1/metrics') {
      const { resourceMetrics } = metricsRequest.parse(JSON.parse(text));
      for (const { scopeMetrics } of resourceMetrics)
        for (const it of scopeMetrics) for (const { name } of it.metrics) metrics.add(name);
    } else throw new Error(`there is no ${path}`);
  };
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    try {
      if (status === 200) take(request.url, request.headers['content-type'], text);
      texts.push(text);
      heads.push(request.headers);
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    } catch (error) {
      mistakes.push(String(error));
      response.writeHead(400).end();
    }
    wake();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ spans, metrics, texts, heads, mistakes },
    answerWith: (next) => {
      status = next;
    },
    async has(count) {
      while (spans.length < count && mistakes.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
  };
}
