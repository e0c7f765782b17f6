import type { Call, Confidence, Finding } from '../../call.ts';
import type { DetectorEngine, Match } from '../../detectors/engine.ts';
import { createLocator } from '../../text/locate.ts';
import { bodyFormat } from '../../text/redact.ts';
import { decodeViews } from '../../text/views.ts';
import { plainBody } from '../body.ts';
import { headLocator, headText } from '../head-text.ts';
import type { Stage } from '../pipeline.ts';

export interface ReadOptions {
  readonly engine: DetectorEngine;
  readonly maxDecodedBytes: number;
  readonly scanTimeoutMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
}

const decodeDepthMax = 3;
const findingsMax = 1000;

/**
 * What does it carry? Looks for findings in URL, headers and body, each also decoded. Finds; never decides. What cannot be
 * read within the bounds makes the call `unreadable`, and the next stages deny it.
 */
export function read(options: ReadOptions): Stage {
  const { engine, clock } = options;

  /** Findings of one part, and its texts. `locate` is made only when something was found. */
  function readPart(
    call: Call,
    part: 'head' | 'body',
    bytes: Buffer,
    locate: () => (offset: number) => string,
    endsAt: number,
  ): Buffer[] {
    const isOver = (): boolean => clock() > endsAt;
    const { views, unreadable } = decodeViews(bytes, {
      maxDecodedBytes: options.maxDecodedBytes,
      depthMax: decodeDepthMax,
      isOver,
    });
    call.unreadable ??= unreadable;
    let where: ((offset: number) => string) | undefined;
    const seen = new Set<string>();
    for (const view of views) {
      const { matches, complete } = engine.find(view.bytes, { matchesMax: findingsMax, isOver });
      if (!complete) call.unreadable ??= isOver() ? 'reading took too long' : 'there are too many findings';
      for (const match of matches) {
        const { start, end } = view.toSource(match.start, match.end);
        const name = `${match.detector.id}:${start}:${end}`;
        if (seen.has(name)) continue;
        seen.add(name);
        where ??= locate();
        call.findings.push(toFinding(call, part, match, start, end, where(start)));
      }
      if (call.findings.length > findingsMax) {
        call.unreadable ??= 'there are too many findings';
        break;
      }
    }
    return views.map((view) => view.bytes);
  }

  return {
    name: 'read',
    run(call) {
      const endsAt = clock() + options.scanTimeoutMs;
      const head = headText(call.target, call.headers);
      call.head = head.bytes;
      readPart(call, 'head', head.bytes, () => headLocator(head), endsAt);
      if (call.body.length === 0) return;

      const body = plainBody(call, options.maxDecodedBytes);
      const locate = (): ((offset: number) => string) => {
        const inBody = createLocator(bodyFormat(call.contentType, body), body);
        return (offset) => `body:${inBody(offset)}`;
      };
      call.bodyTexts = readPart(call, 'body', body, locate, endsAt);
    },
  };
}

function toFinding(
  call: Call,
  part: 'head' | 'body',
  match: Match,
  start: number,
  end: number,
  location: string,
): Finding {
  const { detector } = match;
  const confidence: Confidence = match.confidence;
  return {
    class: detector.class,
    kind: detector.id,
    confidence,
    location,
    part,
    start,
    end,
    atHome: part === 'head' && isHome(detector.vendorHosts, call.target.host),
    vendorHosts: detector.vendorHosts,
  };
}

/** Whether the host is one of the vendor's: `api.x.com`, or `*.x.com` for any depth below x.com. */
function isHome(vendorHosts: readonly string[], host: string): boolean {
  return vendorHosts.some((home) => (home.startsWith('*.') ? host.endsWith(home.slice(1)) : host === home));
}
