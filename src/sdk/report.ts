import type { ResponseScanResult } from './answers.ts';
import { join, toTextStart, toUtf8 } from './bytes.ts';
import { PosternError } from './errors.ts';
import type { Postern } from './postern.ts';
import { pause } from './time.ts';

/** Reports that may be under way at once; `onFailure` is told of further answers. */
const reportsMax = 32;
/** Milliseconds before a second try. A trace of another node comes within a quarter of a second. */
const traceMs = 1000;

export interface ReporterOptions {
  readonly bytesMax: number;
  readonly readMs: number;
  onReport(result: ResponseScanResult): void;
  onFailure(error: unknown, traceId: string): void;
}

/** Reports an answer to the gateway. It returns at once, and the caller loses nothing of the answer. */
export type Report = (response: Response, traceId: string) => void;

export function createReporter(postern: Pick<Postern, 'scanResponse'>, options: ReporterOptions): Report {
  const { bytesMax, readMs, onReport, onFailure } = options;
  let underWay = 0;

  async function report(copy: Response, traceId: string): Promise<void> {
    const bytes = await readStart(copy, bytesMax, readMs);
    const text = toTextStart(bytes);
    const content = copy.headers.get('content-type');
    const answer = {
      traceId,
      responseBody: text === undefined ? bytes : toUtf8(text),
      responseStatus: copy.status,
      ...(content === null ? {} : { headers: { 'content-type': content } }),
    };
    try {
      onReport(await postern.scanResponse(answer));
    } catch (error) {
      if (!(error instanceof PosternError && error.code === 'NOT_FOUND')) throw error;
      await pause(traceMs, undefined);
      onReport(await postern.scanResponse(answer));
    }
  }

  return (response, traceId) => {
    // These answers cannot be read.
    if (response.type === 'opaque' || response.type === 'opaqueredirect') return;
    if (underWay >= reportsMax)
      return onFailure(
        new PosternError('REPORT_SKIPPED', `${reportsMax} answers are being reported already.`, { traceId }),
        traceId,
      );
    underWay += 1;
    report(response.clone(), traceId)
      .catch((error: unknown) => onFailure(error, traceId))
      .finally(() => {
        underWay -= 1;
      });
  };
}

/**
 * Returns the beginning of an answer: at most `bytesMax` bytes that came within `readMs`. Of a broken answer,
 * what came until then counts, since the caller has read it as well.
 */
async function readStart(copy: Response, bytesMax: number, readMs: number): Promise<Uint8Array> {
  if (!copy.body) return new Uint8Array();
  const reader = copy.body.getReader();
  const letGo = (): void => {
    // Nobody waits for this, since a source may take its time to stop.
    reader.cancel().catch(() => undefined);
  };
  const timer = setTimeout(letGo, readMs);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (length < bytesMax) {
      const { done, value } = await reader.read();
      if (done) break;
      const kept = value.slice(0, bytesMax - length);
      chunks.push(kept);
      length += kept.length;
    }
  } catch {
    // The answer broke off, which the caller sees for itself in the same answer.
  } finally {
    clearTimeout(timer);
    letGo();
  }
  return join(chunks, length);
}
