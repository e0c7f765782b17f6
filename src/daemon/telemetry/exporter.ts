import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import type { Transport } from '../../notify/channel.ts';
import type { Counters } from '../metrics/counters.ts';
import type { Family } from '../metrics/families.ts';
import { type TelemetryOrigin, toMetrics, toTraces } from './otlp-json.ts';
import type { CallSpan } from './spans.ts';

/*
 * Sends spans and metrics to an OTLP endpoint, while calls go on. Spans wait in a bounded queue. A span that
 * finds no room is dropped and counted: no call waits for its trace. A batch that is not taken is sent again,
 * unless the collector says that it never will be.
 */

interface ExporterOptions {
  readonly origin: TelemetryOrigin;
  readonly counters: Pick<Counters, 'spans'>;
  readonly families: () => Promise<readonly Family[]>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly timings?: Partial<ExporterTimings>;
}

interface ExporterTimings {
  /** The longest time that a span waits for others, in milliseconds. */
  readonly batchMs: number;
  readonly metricsMs: number;
  readonly retryMs: number;
  readonly retryMsMax: number;
  /** The time for the last batches, when the daemon ends. */
  readonly closeMs: number;
}

const timingsDefault: ExporterTimings = {
  batchMs: 1_000,
  metricsMs: 15_000,
  retryMs: 1_000,
  retryMsMax: 30_000,
  closeMs: 2_000,
};
export const waitingMax = 2_048;
const batchMax = 512;

interface Way {
  /** The URL of the endpoint, without a slash at the end. */
  readonly url: string;
  /** Header fields, which are secrets of the configuration. */
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: Transport;
}

type Answered = 'taken' | 'refused' | 'later';

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #timings: ExporterTimings;
  readonly #closing = new AbortController();
  #way: Way | undefined;
  #waiting: CallSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #metricsTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#timings = { ...timingsDefault, ...options.timings };
  }

  /** Takes a span; drops it where too many wait. */
  add(span: CallSpan): void {
    if (this.#waiting.length >= waitingMax) {
      this.#options.counters.spans.add('dropped');
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= batchMax) this.#sendBehind();
    else this.#timer ??= setTimeout(() => this.#sendBehind(), this.#timings.batchMs).unref();
  }

  /** Sends to this endpoint from now on; without an endpoint, to none. */
  use({ otlp, otlpHeaders }: Pick<Config['telemetry'], 'otlp' | 'otlpHeaders'>, transport: Transport): void {
    const headers = { ...Object.fromEntries(otlpHeaders), 'Content-Type': 'application/json' };
    this.#way = otlp === null ? undefined : { url: otlp.replace(/\/+$/, ''), headers, transport };
    clearInterval(this.#metricsTimer);
    if (this.#way)
      this.#metricsTimer = setInterval(() => void this.#sendMetrics(), this.#timings.metricsMs).unref();
  }

  /** Sends what still waits, within `closeMs`. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#metricsTimer);
    clearTimeout(this.#timer);
    this.#closing.abort();
    await this.#sending;
    const signal = AbortSignal.timeout(this.#timings.closeMs);
    while (this.#waiting.length > 0 && this.#way) if ((await this.#sendBatch(signal)) === 'later') break;
    await this.#sendMetrics(signal);
    this.#options.counters.spans.add('dropped', this.#waiting.length);
    this.#waiting = [];
  }

  #sendBehind(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#waiting.length > 0 && this.#way && !signal.aborted) {
      if ((await this.#sendBatch(signal)) !== 'later') continue;
      const { retryMs, retryMsMax } = this.#timings;
      const pauseMs = Math.min(retryMs * 2 ** (this.#failures - 1), retryMsMax);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #sendBatch(signal: AbortSignal): Promise<Answered> {
    const batch = this.#waiting.slice(0, batchMax);
    const answered = await this.#post('traces', toTraces(batch, this.#options.origin), signal);
    if (answered === 'later') return answered;
    this.#waiting.splice(0, batch.length);
    this.#options.counters.spans.add(answered === 'taken' ? 'exported' : 'dropped', batch.length);
    return answered;
  }

  /** Sends the metrics once. If they are not taken, the next ones tell the same. */
  async #sendMetrics(signal = this.#closing.signal): Promise<void> {
    if (!this.#way) return;
    const families = await this.#options.families();
    await this.#post('metrics', toMetrics(families, this.#options.origin, Date.now()), signal);
  }

  async #post(kind: 'traces' | 'metrics', body: object, signal: AbortSignal): Promise<Answered> {
    if (!this.#way) return 'later';
    const { url, headers, transport } = this.#way;
    try {
      const request = { url: `${url}/v1/${kind}`, headers, body: JSON.stringify(body) };
      const { status } = await transport.post(request, { allowPrivate: true }, signal);
      if (status >= 200 && status < 300) this.#noteSuccess();
      else this.#noteFailure(kind, status);
      return status < 300 ? 'taken' : status < 500 && !mayBeLater.has(status) ? 'refused' : 'later';
    } catch (error) {
      this.#noteFailure(kind, undefined, error);
      return 'later';
    }
  }

  #noteSuccess(): void {
    if (this.#failures > 0) this.#options.log.info({}, 'telemetry is taken again');
    this.#failures = 0;
  }

  /** Notes a failure. It is logged once, until the endpoint takes telemetry again. */
  #noteFailure(kind: string, status: number | undefined, err?: unknown): void {
    this.#failures += 1;
    if (this.#failures === 1) this.#options.log.warn({ kind, status, err }, 'telemetry is not taken');
  }
}

/** Statuses that are worth another try (RFC 9110; the OTLP specification). */
const mayBeLater: ReadonlySet<number> = new Set([408, 429]);
