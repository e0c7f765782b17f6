import { isUtf8 } from 'node:buffer';
import { GrowingBytes } from '../../util/growing-bytes.ts';
import { type Outline, outlineOf } from '../kernel/outline.ts';
import { type Bounds, DecodeBudget, OutOfTimeError, UnreadableError } from './budget.ts';
import { blockDecodersFor, escapeDecoders } from './decoders.ts';
import { formSpace } from './forms/percent.ts';
import { evenLines, type HighEntropyRegion, isHighEntropy } from './high-entropy.ts';
import { isBinaryFile } from './packed/binary-format.ts';
import type { Block } from './packed/block-decoder.ts';
import { findEncrypted, type OpaqueContent } from './packed/opaque.ts';
import { type Readable, toReadable } from './packed/readable.ts';
import { findEncodedRuns } from './runs.ts';
import { separator } from './separator.ts';
import { type Span, SpanMap } from './span-map.ts';
import { readTables } from './tables.ts';
import { decoderTable, type Unescaped, unescapeText } from './unescape.ts';
import { type PlainSpace, unescapeJsonText } from './unescape-json.ts';

/*
 * Reads a text through all its encodings. Every view may have two children: the text with one layer of
 * escapes removed, and the contents of all encoded values in it, joined. Children are read in the same way to
 * a bounded depth, so there are at most 2^(depth + 1) - 1 views. Nearly all texts have no encodings, so each
 * kind is first looked for with the cheapest possible test.
 */

/** A text to search: the source itself, or a decoded form of an earlier view or of values in it. */
export interface View {
  readonly bytes: Buffer;
  readonly outline: Outline;
  /** The encodings from the outermost to the innermost; empty for the source. */
  readonly encodings: readonly string[];
  /** Tells whether the view holds only table cells of another view, with the names of their columns. */
  readonly isTable?: true | undefined;
  /** Tells whether another view holds the same without escapes, so that this one is not searched. */
  readonly isSuperseded?: true | undefined;
  /** Tells whether the view begins at the place where reading begins; see `DecodeBounds.from`. */
  readonly isTail?: true | undefined;
  /**
   * Tells whether a span with a byte on either side stands unchanged in an earlier view; undefined where
   * hardly any span does.
   */
  readonly isKnown?: ((start: number, end: number) => boolean) | undefined;
  /** Returns the source bytes to cut for a span of the view. Escapes and encoded values are cut whole. */
  toSource(start: number, end: number): Span;
}

/** Content that was skipped or proves little, with its place in the source. */
interface Unread {
  readonly opaque: OpaqueContent[];
  readonly highEntropyRegions: HighEntropyRegion[];
}

export interface DecodeBounds extends Bounds {
  /** Tells whether `+` stands for a space. */
  readonly isForm?: boolean;
  /** Tells whether JSON escapes are the text's own: it is then read unescaped instead of raw. */
  readonly isJson?: boolean;
  /**
   * The place before which all is known: nothing before it is decoded or searched. No escape lies across it.
   */
  readonly from?: number | undefined;
  /** Memory for the unescaped source. Views are valid until it is used again. */
  readonly space?: PlainSpace | undefined;
  /** The decoded source, if a declared type says that it is encoded as a whole. */
  readonly decoded?: Buffer | undefined;
}

/** Fields of a layer. Those behind `depth` are optional. */
type LayerFields = Pick<View, 'bytes' | 'encodings' | 'toSource' | 'isTable' | 'isTail'> & {
  readonly depth: number;
  readonly spans?: SpanMap | undefined;
};

/**
 * Holds a view whose outline is made only when it is asked for, which does not happen for superseded views.
 * It is a class because V8 keeps what the getter of an object literal reaches until the next full collection.
 */
class Layer implements View {
  readonly bytes: Buffer;
  readonly encodings: readonly string[];
  readonly depth: number;
  /** The map of an unescaped layer to the layer above; undefined for all other layers. */
  readonly spans: SpanMap | undefined;
  readonly toSource: View['toSource'];
  readonly isTable: true | undefined;
  readonly isTail: true | undefined;
  readonly isKnown: View['isKnown'];
  isSuperseded: true | undefined;
  #outline: Outline | undefined;

  constructor({ bytes, encodings, depth, spans, toSource, isTable, isTail }: LayerFields) {
    this.bytes = bytes;
    this.encodings = encodings;
    this.depth = depth;
    this.spans = spans;
    this.toSource = toSource;
    this.isTable = isTable;
    this.isTail = isTail;
    if (spans && spans.pieces * literalLengthMin < bytes.length)
      this.isKnown = (start, end) => spans.isLiteral(start, end);
  }

  get outline(): Outline {
    this.#outline ??= outlineOf(this.bytes);
    return this.#outline;
  }
}

const escapes = decoderTable(escapeDecoders);
const formEscapes = decoderTable([...escapeDecoders, formSpace]);
const backslash = 0x5c;
/** Bound on the opaque contents whose places are kept. */
const opaqueMax = 16;
/**
 * The number of bytes between escapes, on average, from which on text is reused: between closer ones it
 * hardly ever is.
 */
const literalLengthMin = 256;

/**
 * Returns the source and all that can be decoded in it, to `depthMax` encodings inside one another. Time is
 * linear and bytes are bounded. `unreadable` says why reading ended early; such content must not pass.
 */
export function decodeViews(
  source: Buffer,
  bounds: DecodeBounds,
): {
  views: View[];
  opaque: readonly OpaqueContent[];
  highEntropyRegions: readonly HighEntropyRegion[];
  /** Stretches of tables that need the header before them. */
  reaches: readonly Span[];
  unreadable: string | undefined;
  /** Tells whether it is unreadable because the time was over. */
  isOutOfTime: boolean;
} {
  const budget = new DecodeBudget(bounds, source);
  const opaque: OpaqueContent[] = [];
  const highEntropyRegions: HighEntropyRegion[] = [];
  const reaches: Span[] = [];
  const root = sourceOf(source);
  const tables: View[] = [];
  const layers: Layer[] = [];
  try {
    layers.push(root);
    const raw = bounds.from === undefined ? root : supersede(root, tailOf(root, bounds.from));
    if (raw !== root) layers.push(raw);
    const canonical = bounds.isJson ? canonicalOf(raw, budget, bounds.space) : undefined;
    if (canonical) layers.push(supersede(raw, canonical));
    const searched = canonical ?? raw;
    const encrypted = encryptedIn(searched);
    if (encrypted) opaque.push(encrypted);
    if (bounds.decoded) layers.push(wholeOf(root, bounds.decoded, budget));
    for (const layer of layers) {
      if (layer.isSuperseded) continue;
      const table = tableOf(layer, budget, reaches);
      if (table) tables.push(table);
      if (layer.depth >= bounds.depthMax) continue;
      const decoders = bounds.isForm && layer === root ? formEscapes : escapes;
      const unescaped = unescapeLayer(layer, decoders, budget);
      if (unescaped) layers.push(unescaped);
      const blocks = decodeBlocks(layer, budget, { opaque, highEntropyRegions });
      if (blocks) layers.push(blocks);
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const isOutOfTime = error instanceof OutOfTimeError;
    return {
      views: [...layers, ...tables],
      opaque,
      highEntropyRegions,
      reaches,
      unreadable: error.message,
      isOutOfTime,
    };
  }
  const views = tables.length > 0 ? [...layers, ...tables] : layers;
  return { views, opaque, highEntropyRegions, reaches, unreadable: undefined, isOutOfTime: false };
}

const asItStands = (start: number, end: number): Span => ({ start, end });

const sourceOf = (bytes: Buffer): Layer =>
  new Layer({ bytes, encodings: [], depth: 0, toSource: asItStands });

/** Marks a layer as superseded and returns the other one. */
function supersede(layer: Layer, other: Layer): Layer {
  layer.isSuperseded = true;
  return other;
}

function encryptedIn(layer: Layer): OpaqueContent | undefined {
  const found = findEncrypted(layer.bytes, layer.outline);
  return found && { kind: found.kind, ...layer.toSource(found.start, found.end) };
}

/**
 * Makes a view of a layer's table cells; undefined where it has none. The view is not decoded again: cells
 * are decoded in their places.
 */
function tableOf(layer: Layer, budget: DecodeBudget, reaches: Span[]): View | undefined {
  // Text without escapes was read in the layer above.
  const isKnown = ({ start, end }: Span): boolean => layer.spans?.isLiteral(start, end) ?? false;
  const own: { start: number; end: number }[] = [];
  const cells = readTables(layer, isKnown, separator, budget, own);
  for (const { start, end } of own) reaches.push(layer.toSource(start, end));
  if (!cells) return undefined;
  const bytes = cells.bytes();
  const toSource = (start: number, end: number): Span => {
    const span = cells.toSource(start, end);
    return layer.toSource(span.start, span.end);
  };
  return new Layer({ bytes, encodings: layer.encodings, depth: layer.depth, toSource, isTable: true });
}

function unescapeLayer(layer: Layer, table: typeof escapes, budget: DecodeBudget): Layer | undefined {
  const unescaped = unescapeText(layer.bytes, table, () => budget.check(), layer.outline);
  if (!unescaped) return undefined;
  const { bytes, names, spans } = unescaped;
  budget.spend(bytes.length);
  return childOf(layer, { bytes, names, map: spans, spans });
}

/**
 * Makes the unescaped text of a JSON body, which supersedes the body itself; undefined where it has no
 * escapes.
 */
function canonicalOf(raw: Layer, budget: DecodeBudget, space: PlainSpace | undefined): Layer | undefined {
  const unescaped = withoutEscapes(raw.bytes, () => budget.check(), space);
  if (!unescaped) return undefined;
  budget.spend(unescaped.bytes.length);
  const { bytes, names, spans } = unescaped;
  return childOf(raw, { bytes, names, map: spans, depth: 0, isTail: raw.isTail });
}

/** Returns a JSON text without the escapes of its strings; undefined if it has none or is no JSON. */
export function withoutEscapes(bytes: Buffer, check: () => void, space?: PlainSpace): Unescaped | undefined {
  return bytes.includes(backslash) && mayBeJson(bytes) ? unescapeJsonText(bytes, check, space) : undefined;
}

/** Makes a view of the end of the source. */
function tailOf({ bytes, encodings, depth }: Layer, from: number): Layer {
  const toSource = (start: number, end: number): Span => ({ start: from + start, end: from + end });
  return new Layer({ bytes: bytes.subarray(from), encodings, depth, toSource, isTail: true });
}

/** Makes a view of the whole source in decoded form; a finding in it covers the whole source. */
function wholeOf(root: Layer, decoded: Buffer, budget: DecodeBudget): Layer {
  budget.spend(decoded.length);
  const spans = new SpanMap();
  spans.addWhole(0, 0, root.bytes.length);
  return childOf(root, { bytes: decoded, names: ['base64'], map: spans });
}

/**
 * Tells whether bytes may be JSON. Binary content is none: a backslash in it is no escape, and compressed
 * bytes stay intact.
 */
const mayBeJson = (bytes: Buffer): boolean => !bytes.includes(0) && isUtf8(bytes);

function decodeBlocks(
  layer: Layer,
  budget: DecodeBudget,
  { opaque, highEntropyRegions }: Unread,
): Layer | undefined {
  // Text without escapes was read in the layer above.
  const isNew = (span: Span): boolean => !layer.spans?.isLiteral(span.start, span.end);
  const { bytes, outline } = layer;
  const all = findEncodedRuns(bytes, outline, budget);
  const runs = layer.spans && all.length > 0 ? all.filter(isNew) : all;
  const text = { bytes, outline, runs, runKinds: runs.reduce((kinds, it) => kinds | it.kinds, 0) };
  let joined: JoinedValues | undefined;
  for (const decoder of blockDecodersFor(outline.flags)) {
    // The work is counted for decoders that are not asked, too, since the steps up to here took time.
    budget.work(bytes.length);
    if (!decoder.mayHold(text)) continue;
    for (const block of decoder.find(text, budget)) {
      // A file loses its format when escapes are removed.
      if (!isNew(block) || (block.isLiteral && layer.spans)) continue;
      const readable = toReadable(block.bytes, budget);
      if (block.isGuess && readable.names.length === 0) continue;
      const kind = readable.opaque ?? block.opaque;
      if (kind && opaque.length < opaqueMax) opaque.push({ kind, ...layer.toSource(block.start, block.end) });
      const isLiteral = block.isLiteral === true;
      if (readable.names.length === 0 && isHighEntropy(readable.bytes, block.bytes))
        for (const { start, end } of isLiteral || block.isOne ? [block] : evenLines(bytes, block))
          highEntropyRegions.push({ isLiteral, ...layer.toSource(start, end) });
      else {
        const file = fileOf(readable, block);
        if (file) highEntropyRegions.push({ isLiteral, file, ...layer.toSource(block.start, block.end) });
      }
      if (readable.bytes.length === 0 || (block.isLiteral && readable.names.length === 0)) continue;
      budget.spend(readable.bytes.length + separator.length);
      joined ??= new JoinedValues();
      joined.add(block, readable.bytes, [decoder.name, ...readable.names]);
    }
  }
  return joined && childOf(layer, { bytes: joined.bytes, names: [...joined.names], map: joined.spans });
}

/** Returns the kind of file that a value is, without text or packed; undefined where it is none. */
function fileOf({ names }: Readable, { bytes, isGuess }: Block): HighEntropyRegion['file'] {
  if (names.length > 0) return isGuess ? undefined : 'packed';
  return isBinaryFile(bytes) ? 'binary' : undefined;
}

/** Joins the contents of encoded values. */
class JoinedValues {
  readonly spans = new SpanMap();
  readonly names = new Set<string>();
  readonly #joined = new GrowingBytes();

  add(source: Block, bytes: Buffer, names: readonly string[]): void {
    for (const name of names) this.names.add(name);
    // A value that was decoded further maps to the source as a whole.
    if (source.parts && bytes === source.bytes) this.#addParts(source.parts);
    else this.spans.addWhole(this.#joined.length, source.start, source.end);
    this.#joined.append(bytes);
    if (source.parts) this.spans.addWhole(this.#joined.length, source.end, source.end);
    this.#joined.append(separator);
  }

  get bytes(): Buffer {
    return this.#joined.bytes;
  }

  #addParts(parts: readonly Span[]): void {
    let at = this.#joined.length;
    for (const { start, end } of parts) {
      this.spans.addLiteral(at, start);
      at += end - start;
    }
  }
}

interface Child extends Partial<Pick<LayerFields, 'depth' | 'spans' | 'isTail'>> {
  readonly bytes: Buffer;
  readonly names: readonly string[];
  /** The map of its bytes to its parent. */
  readonly map: SpanMap;
}

function childOf(
  parent: Layer,
  { bytes, names, map, depth = parent.depth + 1, spans, isTail }: Child,
): Layer {
  const encodings = parent.encodings.length === 0 ? names : [...parent.encodings, ...names];
  const isDirect = parent.toSource === asItStands;
  const toSource = (start: number, end: number): Span => {
    const span = map.toSource(start, end);
    return isDirect ? span : parent.toSource(span.start, span.end);
  };
  return new Layer({ bytes, encodings, depth, spans, toSource, isTail });
}
