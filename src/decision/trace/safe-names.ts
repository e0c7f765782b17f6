import type { NamedCall, Operation, OperationPart } from '../../core/call.ts';
import { type NameReader, ownName, type SafeName, safely, unreadName } from '../../core/safe-name.ts';
import { decodeViews } from '../../inspect/decode/views.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import type { Cut } from '../../inspect/redact/cuts.ts';
import { redact } from '../../inspect/redact/redact.ts';
import { createCache } from '../../state/cache.ts';
import { kept } from '../../util/kept.ts';
import { redactedMethod } from './redacted.ts';

/*
 * Names that callers choose, as they may be kept and shown. A name is read by itself, wherever it came from.
 * The reader of the call may have seen it elsewhere, in another case, or not at all. Nearly all names are
 * those of the catalogue and of a few hosts. So a name that was found clean is remembered, and costs one
 * look.
 */

const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Bounds that are enough for a short text in any form. */
const decoding = { maxDecodedBytes: 65_536, depthMax: 3 };
const findingsMax = 64;
/** The length to which a name is read and shown. */
export const nameLengthMax = 1_024;
/** The number of clean names that are remembered for each engine. */
const rememberedMax = 8_192;
const rememberedLengthMax = 256;

const readers = new WeakMap<DetectorEngine, NameReader>();

/** Returns the reader of names that belongs to an engine, always the same one. */
export const safeNamesOf = (engine: DetectorEngine): NameReader =>
  kept(readers, engine, () => createNameReader(engine));

/** Creates a reader that remembers clean names, and no name in which something was found. */
function createNameReader(engine: DetectorEngine): NameReader {
  const clean = createCache<SafeName>(rememberedMax);
  return (text) => {
    const known = clean.get(text);
    if (known !== undefined) return known;
    const name = readName(engine, text);
    // The name is copied, because the text may be a slice of its whole head, which would be kept with it.
    if (name === text && text.length <= rememberedLengthMax) {
      const copy = ownName(Buffer.from(text).toString());
      clean.set(copy, copy);
    }
    return name;
  };
}

const never = (): boolean => false;

/**
 * Reads a name as it is and decoded. Findings and beginnings of secrets stand as `[REDACTED:<kind>]`, except
 * INTERNAL ones. Characters that steer a terminal or turn the order of a line are taken out. What is longer
 * than 1,024 characters is cut.
 */
export function readName(engine: DetectorEngine, text: string, isOver: () => boolean = never): SafeName {
  const plain = text.slice(0, nameLengthMax).replace(steering, '');
  const bytes = Buffer.from(plain);
  const { views, unreadable } = decodeViews(bytes, { ...decoding, isOver });
  if (unreadable !== undefined) return unreadName(text);
  const cuts: Cut[] = [];
  for (const view of views) {
    const limits = { matchesMax: findingsMax, isOver };
    const { matches, partialSecrets, complete } = engine.find(view.bytes, limits, view.outline);
    if (!complete) return unreadName(text);
    const found = [...matches, ...partialSecrets.filter((it) => it.missing)];
    for (const { detector, start, end } of found.filter((it) => it.detector.class !== 'INTERNAL'))
      cuts.push({ ...view.toSource(start, end), label: detector.id });
  }
  const name = cuts.length === 0 ? plain : redact(bytes, cuts).bytes.toString();
  return ownName(text.length > nameLengthMax ? `${name}…` : name);
}

type Named = Pick<Operation, 'name' | 'said'>;

/** Returns the name of an operation where it is kept and shown. Policies go by its own name. */
export function shownOperation({ safeName }: Pick<NamedCall, 'safeName'>, { name, said }: Named): SafeName {
  if (said === undefined) return safeName(name);
  // The name is made of what the caller said. In another case a detector may not know it, and it reads the
  // same.
  const shown = safeName(said);
  return shown === said ? safeName(name) : shown;
}

/**
 * Returns the shown name of a call's operation. Where something was found in the method, it is the shown
 * method.
 */
export function shownOperationOf(call: NamedCall): SafeName {
  const method = redactedMethod(call);
  if (method !== call.received.method) return method;
  return call.operation ? shownOperation(call, call.operation) : call.safeName(call.received.method);
}

/** Returns the name of one of several operations of a call, with its tool. */
export const shownPart = (call: Pick<NamedCall, 'safeName'>, { operation }: OperationPart): SafeName =>
  safely`${call.safeName(operation.toolName)} ${shownOperation(call, operation)}`;
