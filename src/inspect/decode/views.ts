import { isUtf8 } from 'node:buffer';
import { type Outline, outlineOf } from '../kernel/outline.ts';
import { type Bounds, DecodeBudget, OutOfTimeError, UnreadableError } from './budget.ts';
import { blockDecoders, escapeDecoders } from './decoders.ts';
import { formSpace } from './forms/percent.ts';
import { evenLines, isNoise, type Noise } from './noise.ts';
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
 * How a text is read in whatever dress. Every view may have two children: the same text with one layer of escapes taken off,
 * and the contents of all encoded values in it, one behind the other. Children are read in the same way to a bounded depth, so
 * there are at most 2^(depth + 1) - 1 views. Nearly all texts wear nothing, so each kind of dress is first looked for with
 * the cheapest possible test.
 */

/** A text to be searched: the source itself, or a decoded form of an earlier view or of the values in it. */
export interface View {
  readonly bytes: Buffer;
  readonly outline: Outline;
  /** From the outermost to the innermost. Empty for the source. */
  readonly encodings: readonly string[];
  /** Holds nothing but cells of tables in another view, with the names of their columns. */
  readonly isTable?: true | undefined;
  /** Another view holds the same without escapes, so this one is not searched. */
  readonly isSuperseded?: true | undefined;
  /** It begins where reading begins, see `DecodeBounds.from`. */
  readonly isTail?: true | undefined;
  /** Whether these bytes, and one on either side of them, stand in an earlier view as they stand here; undefined where hardly any do. */
  readonly isKnown?: ((start: number, end: number) => boolean) | undefined;
  /** The bytes of the source to cut so that `start`..`end` of the view is gone, escapes and encoded values as a whole. */
  toSource(start: number, end: number): Span;
}

/** What was passed over or says little, with its place in the source. */
interface Unread {
  readonly opaque: OpaqueContent[];
  readonly noise: Noise[];
}

export interface DecodeBounds extends Bounds {
  /** Whether `+` stands for a space. */
  readonly isForm?: boolean;
  /** Whether the escapes of JSON are the text's own: then it is read without them, and not as it stands. */
  readonly isJson?: boolean;
  /** Nothing before this place is decoded or looked for: it is known what stands there. No escape lies across it. */
  readonly from?: number | undefined;
  /** Where the source is put without its escapes; the views are of use until another one is put there. */
  readonly space?: PlainSpace | undefined;
  /** What the source stands for as a whole, where something beside it says so. */
  readonly decoded?: Buffer | undefined;
}

/** What is always told of a layer, and what of few. */
type LayerFields = Pick<View, 'bytes' | 'encodings' | 'toSource' | 'isTable' | 'isTail'> & {
  readonly depth: number;
  readonly spans?: SpanMap | undefined;
};

/**
 * Its outline is made when somebody asks for it: of what is superseded nobody does. A class, because what a getter in an object literal reaches
 * is kept until the next full collection.
 */
class Layer implements View {
  readonly bytes: Buffer;
  readonly encodings: readonly string[];
  readonly depth: number;
  /** Of a layer that was unescaped: what stands there as it stood in the layer above. */
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
/** Of which the places are told. */
const opaqueMax = 16;
/** Where escapes stand closer together, hardly anything is seen without one of them. */
const literalLengthMin = 256;

/**
 * The source, and all that can be decoded in it, to `depthMax` encodings inside one another. Linear in time and bounded in
 * bytes; `unreadable` says why reading ended early, and such a content must not pass.
 */
export function decodeViews(
  source: Buffer,
  bounds: DecodeBounds,
): {
  views: View[];
  opaque: readonly OpaqueContent[];
  noise: readonly Noise[];
  /** Where what stands in a table counts with its header. */
  reaches: readonly Span[];
  unreadable: string | undefined;
  /** It is unreadable because the time was over. */
  isOutOfTime: boolean;
} {
  const budget = new DecodeBudget(bounds);
  const opaque: OpaqueContent[] = [];
  const noise: Noise[] = [];
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
      const blocks = decodeBlocks(layer, budget, { opaque, noise });
      if (blocks) layers.push(blocks);
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const isOutOfTime = error instanceof OutOfTimeError;
    return { views: [...layers, ...tables], opaque, noise, reaches, unreadable: error.message, isOutOfTime };
  }
  const views = tables.length > 0 ? [...layers, ...tables] : layers;
  return { views, opaque, noise, reaches, unreadable: undefined, isOutOfTime: false };
}

const asItStands = (start: number, end: number): Span => ({ start, end });

const sourceOf = (bytes: Buffer): Layer =>
  new Layer({ bytes, encodings: [], depth: 0, toSource: asItStands });

/** From now on the one stands for the other. */
function supersede(layer: Layer, other: Layer): Layer {
  layer.isSuperseded = true;
  return other;
}

function encryptedIn(layer: Layer): OpaqueContent | undefined {
  const found = findEncrypted(layer.bytes, layer.outline);
  return found && { kind: found.kind, ...layer.toSource(found.start, found.end) };
}

/** Not decoded in its turn: what a cell holds is decoded where it stands. */
function tableOf(layer: Layer, budget: DecodeBudget, reaches: Span[]): View | undefined {
  // What no escape touches was read in the layer above.
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

/** The text of a JSON body without the escapes of its strings, which stands for the body itself. */
function canonicalOf(raw: Layer, budget: DecodeBudget, space: PlainSpace | undefined): Layer | undefined {
  const unescaped = withoutEscapes(raw.bytes, () => budget.check(), space);
  if (!unescaped) return undefined;
  budget.spend(unescaped.bytes.length);
  const { bytes, names, spans } = unescaped;
  return childOf(raw, { bytes, names, map: spans, depth: 0, isTail: raw.isTail });
}

/** What the strings of a JSON text stand for; undefined where that is the same, or where it is no such text. */
export function withoutEscapes(bytes: Buffer, check: () => void, space?: PlainSpace): Unescaped | undefined {
  return bytes.includes(backslash) && mayBeJson(bytes) ? unescapeJsonText(bytes, check, space) : undefined;
}

/** The end of the source. */
function tailOf({ bytes, encodings, depth }: Layer, from: number): Layer {
  const toSource = (start: number, end: number): Span => ({ start: from + start, end: from + end });
  return new Layer({ bytes: bytes.subarray(from), encodings, depth, toSource, isTail: true });
}

/** What is found in another form of the source is found in all of it. */
function wholeOf(root: Layer, decoded: Buffer, budget: DecodeBudget): Layer {
  budget.spend(decoded.length);
  const spans = new SpanMap();
  spans.addWhole(0, 0, root.bytes.length);
  return childOf(root, { bytes: decoded, names: ['base64'], map: spans });
}

/** A backslash in compressed bytes is no escape: without it they could not be unpacked. */
const mayBeJson = (bytes: Buffer): boolean => !bytes.includes(0) && isUtf8(bytes);

function decodeBlocks(layer: Layer, budget: DecodeBudget, { opaque, noise }: Unread): Layer | undefined {
  // What no escape touches was read in the layer above.
  const isNew = (span: Span): boolean => !layer.spans?.isLiteral(span.start, span.end);
  const { bytes, outline } = layer;
  const all = findEncodedRuns(bytes, outline, budget);
  const runs = layer.spans && all.length > 0 ? all.filter(isNew) : all;
  const text = { bytes, outline, runs, runKinds: runs.reduce((kinds, it) => kinds | it.kinds, 0) };
  let joined: JoinedValues | undefined;
  for (const decoder of blockDecoders) {
    // Also for those that are not asked: what led up to here took its time, too.
    budget.work(bytes.length);
    if (!decoder.mayHold(text)) continue;
    for (const block of decoder.find(text, budget)) {
      // A file with escapes taken off is none any more.
      if (!isNew(block) || (block.isLiteral && layer.spans)) continue;
      const readable = toReadable(block.bytes, budget);
      if (block.isGuess && readable.names.length === 0) continue;
      const kind = readable.opaque ?? block.opaque;
      if (kind && opaque.length < opaqueMax) opaque.push({ kind, ...layer.toSource(block.start, block.end) });
      const isLiteral = block.isLiteral === true;
      if (readable.names.length === 0 && isNoise(readable.bytes, block.bytes))
        for (const { start, end } of isLiteral ? [block] : evenLines(bytes, block))
          noise.push({ isLiteral, ...layer.toSource(start, end) });
      else {
        const file = fileOf(readable, block);
        if (file) noise.push({ isLiteral, file, ...layer.toSource(block.start, block.end) });
      }
      if (readable.bytes.length === 0 || (block.isLiteral && readable.names.length === 0)) continue;
      budget.spend(readable.bytes.length + separator.length);
      joined ??= new JoinedValues();
      joined.add(block, readable.bytes, [decoder.name, ...readable.names]);
    }
  }
  return joined && childOf(layer, { bytes: joined.bytes(), names: [...joined.names], map: joined.spans });
}

/** Whether a value stands for a file without text, or a packed one. */
function fileOf({ names }: Readable, { bytes, isGuess }: Block): Noise['file'] {
  if (names.length > 0) return isGuess ? undefined : 'packed';
  return isBinaryFile(bytes) ? 'binary' : undefined;
}

/** What encoded values stand for, one behind the other. */
class JoinedValues {
  readonly spans = new SpanMap();
  readonly names = new Set<string>();
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  add(source: Block, bytes: Buffer, names: readonly string[]): void {
    for (const name of names) this.names.add(name);
    // What was decoded further stands for the value as a whole.
    if (source.parts && bytes === source.bytes) this.#addParts(source.parts);
    else this.spans.addWhole(this.#length, source.start, source.end);
    this.#append(bytes);
    if (source.parts) this.spans.addWhole(this.#length, source.end, source.end);
    this.#append(separator);
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #addParts(parts: readonly Span[]): void {
    let at = this.#length;
    for (const { start, end } of parts) {
      this.spans.addLiteral(at, start);
      at += end - start;
    }
  }

  /** Copied at once: to put a million parts together at the end takes longer than the clock is left alone for. */
  #append(part: Buffer): void {
    if (this.#length + part.length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#length + part.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += part.copy(this.#bytes, this.#length);
  }
}

interface Child extends Partial<Pick<LayerFields, 'depth' | 'spans' | 'isTail'>> {
  readonly bytes: Buffer;
  readonly names: readonly string[];
  /** Where its bytes stand in its parent. */
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
