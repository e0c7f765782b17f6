import type { Call, Finding } from '../../call.ts';
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

const depthMax = 3;
const findingsMax = 1000;

type Locate = (offset: number) => string;

/** One part of a call: the head, or the body. */
interface Part {
  readonly name: Finding['part'];
  readonly bytes: Buffer;
  readonly isForm: boolean;
  /** Asked only where something was found. `hidden` are the findings, which no place may quote. */
  locator(hidden: readonly { start: number; end: number }[]): Locate;
}

/**
 * What does it carry? Looks for findings in URL, headers and body, each also decoded. Finds; never decides. What cannot be
 * read within the bounds makes the call `unreadable`, and the next stages deny it.
 */
export function read({ engine, maxDecodedBytes, scanTimeoutMs, clock }: ReadOptions): Stage {
  /** Adds the findings of a part to the call; answers its texts, the bytes themselves first. */
  function readPart(call: Call, part: Part, isOver: () => boolean): readonly Buffer[] {
    const { views, unreadable } = decodeViews(part.bytes, {
      maxDecodedBytes,
      depthMax,
      isOver,
      isForm: part.isForm,
    });
    call.unreadable ??= unreadable;
    const found: Found[] = [];
    for (const view of views) {
      const { matches, complete } = engine.find(view.bytes, { matchesMax: findingsMax, isOver });
      if (!complete) call.unreadable ??= isOver() ? 'reading took too long' : 'there are too many findings';
      for (const match of matches) found.push({ match, ...view.toSource(match.start, match.end) });
      if (found.length > findingsMax) {
        call.unreadable ??= 'there are too many findings';
        break;
      }
    }
    if (found.length > 0) call.findings.push(...toFindings(call, part, found));
    return views.length === 1 ? [part.bytes] : views.map((view) => view.bytes);
  }

  /** Heads of one connection are mostly the same: what was read a moment ago is not read again. */
  function readHead(call: Call, isOver: () => boolean): void {
    const text = headText(call.target, call.headers);
    const { lastHead } = call;
    if (lastHead && lastHead.text === text && lastHead.reader === engine) {
      call.head = lastHead.bytes;
      call.findings = [...lastHead.findings];
      return;
    }
    call.head = Buffer.from(text, 'latin1');
    const locator = (): Locate => headLocator(call.target, call.headers);
    readPart(call, { name: 'head', bytes: call.head, isForm: false, locator }, isOver);
    if (!lastHead || call.unreadable !== undefined) return;
    lastHead.text = text;
    lastHead.bytes = call.head;
    lastHead.findings = [...call.findings];
    lastHead.reader = engine;
  }

  function readBody(call: Call, isOver: () => boolean): void {
    const bytes = plainBody(call, maxDecodedBytes);
    const format = bodyFormat(call.contentType, bytes);
    const locator: Part['locator'] = (hidden) => {
      const locate = createLocator(format, bytes, [...hidden]);
      return (offset) => `body:${locate(offset)}`;
    };
    call.bodyTexts = readPart(call, { name: 'body', bytes, isForm: format === 'form', locator }, isOver);
  }

  return {
    name: 'read',
    run(call) {
      const endsAt = clock() + scanTimeoutMs;
      const isOver = (): boolean => clock() > endsAt;
      readHead(call, isOver);
      if (call.body.length > 0) readBody(call, isOver);
    },
  };
}

/** A match with its place in the bytes of the part. */
interface Found {
  readonly match: Match;
  readonly start: number;
  readonly end: number;
}

/** One finding for each detector and place: what is found in a text is often found in its decoded form again. */
function toFindings(call: Call, part: Part, found: readonly Found[]): Finding[] {
  const locate = part.locator(found);
  const distinct = new Map(found.map((it) => [`${it.match.detector.id}:${it.start}:${it.end}`, it]));
  return [...distinct.values()].map(({ match: { detector, confidence }, start, end }) => ({
    class: detector.class,
    kind: detector.id,
    confidence,
    location: locate(start),
    part: part.name,
    start,
    end,
    atHome: part.name === 'head' && isHome(detector.vendorHosts, call.target.host),
    vendorHosts: detector.vendorHosts,
  }));
}

/** Whether the host is one of the vendor's: `api.x.com`, or `*.x.com` for any depth below x.com. */
function isHome(vendorHosts: readonly string[], host: string): boolean {
  return vendorHosts.some((home) => (home.startsWith('*.') ? host.endsWith(home.slice(1)) : host === home));
}
