import type { Call, Finding } from '../../call.ts';
import type { DetectorEngine, Match } from '../../detectors/engine.ts';
import { GatewayError } from '../../errors.ts';
import { createLocator } from '../../text/locate.ts';
import { bodyFormat } from '../../text/redact.ts';
import { decodeViews } from '../../text/views.ts';
import { plainBody } from '../body.ts';
import { keptText } from '../claimed-text.ts';
import { headLocator, headText } from '../head-text.ts';
import type { Stage } from '../pipeline.ts';
import { type Rules, rulesForCall, type TenantRules } from '../policy-book.ts';
import type { Tenants } from '../tenants.ts';

export interface ReadOptions {
  readonly policies: Rules;
  /** Whose bounds count. */
  readonly tenants: Pick<Tenants, 'find'>;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
}

const depthMax = 3;
const findingsMax = 1000;
/** Beyond this size a body that grew so much is a bomb: reading it costs the gate far more than sending it cost the agent. */
const expandedBytesMax = 1024 * 1024;
const expansionMax = 100;
const redacted = '[REDACTED]';

type Locate = (offset: number) => string;

/** How much of a call may be read, as its tenant says it. */
interface Bounds {
  /** Of all decoded forms of a part together. */
  readonly maxDecodedBytes: number;
  /** Reading stops here, and the call is unreadable. */
  readonly isOver: () => boolean;
}

/** One part of a call: the head, or the body. */
interface Part {
  readonly name: Finding['part'];
  readonly bytes: Buffer;
  readonly isForm: boolean;
  /** Takes what is found of the words of policies. */
  readonly wordsFound: Uint8Array | undefined;
  /** Asked only where something was found. `hidden` are the findings, which no place may quote. */
  locator(hidden: readonly { start: number; end: number }[]): Locate;
}

/**
 * What does it carry? Looks for findings in URL, headers and body, each also decoded. Finds; never decides. What cannot be
 * read within the bounds makes the call `unreadable`, and the next stages deny it.
 */
export function read({ policies, tenants, clock }: ReadOptions): Stage {
  /** Adds the findings of a part to the call; answers its texts, the bytes themselves first. */
  function readPart(
    call: Call,
    part: Part,
    engine: DetectorEngine,
    { maxDecodedBytes, isOver }: Bounds,
  ): readonly Buffer[] {
    const { views, unreadable } = decodeViews(part.bytes, {
      maxDecodedBytes,
      depthMax,
      isOver,
      isForm: part.isForm,
    });
    call.unreadable ??= unreadable;
    const limits = {
      matchesMax: findingsMax,
      isOver,
      ...(part.wordsFound ? { wordsFound: part.wordsFound } : {}),
    };
    const found: Found[] = [];
    for (const view of views) {
      const { matches, complete } = engine.find(view.bytes, limits);
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
  function readHead(call: Call, engine: DetectorEngine, bounds: Bounds): void {
    const text = headText(call);
    const { lastHead } = call;
    if (lastHead && lastHead.text === text && lastHead.reader === engine) {
      call.head = lastHead.bytes;
      call.findings = [...lastHead.findings];
      return;
    }
    call.head = Buffer.from(text, 'latin1');
    const locator: Part['locator'] = (hidden) => headLocator(call, hidden);
    readPart(
      call,
      { name: 'head', bytes: call.head, isForm: false, wordsFound: undefined, locator },
      engine,
      bounds,
    );
    if (!lastHead || call.unreadable !== undefined) return;
    lastHead.text = text;
    lastHead.bytes = call.head;
    lastHead.findings = [...call.findings];
    lastHead.reader = engine;
  }

  function readBody(call: Call, { engine, rules }: TenantRules, bounds: Bounds): void {
    const { maxDecodedBytes, isOver } = bounds;
    const bytes = plainBody(call, maxDecodedBytes);
    if (bytes.length > expandedBytesMax && bytes.length > call.body.length * expansionMax) {
      call.unreadable ??= `it expands to more than ${expansionMax} times its size`;
      return;
    }
    const format = bodyFormat(call.contentType, bytes);
    const locator: Part['locator'] = (hidden) => {
      const locate = createLocator(format, bytes, [...hidden]);
      return (offset) => `body:${locate(offset)}`;
    };
    const wordsFound = new Uint8Array(rules.words.length);
    call.wordsFound = { words: rules.words, found: wordsFound };
    const part = {
      name: 'body',
      bytes,
      isForm: format === 'form',
      wordsFound,
      locator,
    } as const;
    call.bodyTexts = readPart(call, part, engine, bounds);
    // A coding has room beside the content: names, comments, frames to be skipped. They go out as they are.
    if (bytes !== call.body && engine.find(call.body, { matchesMax: 1, isOver }).matches.length > 0) {
      call.unreadable ??= 'something is hidden in the content coding of the body';
    }
  }

  function readCall(call: Call, page: TenantRules): void {
    const tenant = call.identity && tenants.find(call.identity.tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const { maxDecodedBytes, scanTimeoutMs } = tenant;
    const endsAt = clock() + scanTimeoutMs;
    const isOver = (): boolean => clock() > endsAt;
    const bounds = { maxDecodedBytes, isOver };
    const { agentName, runtimeType } = call.claimed;
    if (agentName) call.agentName = keptText(page.engine, agentName, isOver) ?? redacted;
    if (runtimeType) call.runtimeType = keptText(page.engine, runtimeType, isOver) ?? redacted;
    readHead(call, page.engine, bounds);
    if (call.body.length > 0) readBody(call, page, bounds);
  }

  return {
    name: 'read',
    run(call) {
      const page = rulesForCall(policies, call);
      return page instanceof Promise ? page.then((it) => readCall(call, it)) : readCall(call, page);
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
  return [...distinct.values()].map(({ match: { detector, confidence }, start, end }) => {
    const location = locate(start);
    const { class: dataClass, id: kind, vendorHosts } = detector;
    const atHome = isHome(detector, call.target.host, location);
    return { class: dataClass, kind, confidence, location, part: part.name, start, end, atHome, vendorHosts };
  });
}

/**
 * A credential is at home where its vendor wants it: in that place of a call to one of the vendor's hosts (`api.x.com`, or `*.x.com`
 * for any depth below x.com). At the same host in another place it may be on its way to somebody who only rents there.
 */
function isHome({ vendorHosts, homePlaces }: Match['detector'], host: string, location: string): boolean {
  return (
    homePlaces.includes(location.toLowerCase()) &&
    vendorHosts.some((home) => (home.startsWith('*.') ? host.endsWith(home.slice(1)) : host === home))
  );
}
