import { type Event, parseEvents, YAMLException } from 'js-yaml';
import { type TreeFault, TreeReader, toPlain, type YamlNode, type YamlTree } from './yaml-tree.ts';

/*
 * Reads YAML that strangers write: any text is read in time and space in proportion to its length. The parser
 * bounds the depth; aliases and repeated keys are counted here. The parser's messages may quote the text,
 * which may hold secrets. So each is replaced by one of our own.
 */

/** The limit of nested levels. Deeper nesting is refused before anything recurses into it. */
const depthMax = 100;
const mistakesMax = 50;

export interface YamlMistake {
  /** The line; like the column, it counts from 1. */
  readonly line: number;
  readonly column: number;
  /** A message that never quotes the text. */
  readonly message: string;
  /**
   * Whether the mistake leaves the meaning of the whole text in doubt. Where it is false, the rest of the
   * text means what it seems to mean.
   */
  readonly isFatal: boolean;
}

export interface YamlDocument {
  /** The plain value. It is null for a document of comments only, and for one that has a mistake. */
  readonly value: unknown;
  /** The line of the content's first character, from 1. */
  readonly line: number;
  /** Returns the line of the value at a path such as `cases[2].expect`, or of the nearest value around it. */
  lineOf(path: string): number;
}

interface YamlText {
  /** The documents of the text, at least one. */
  readonly documents: readonly YamlDocument[];
  /** The first 50 mistakes in the text's order, up to the first that makes it no YAML. */
  readonly mistakes: readonly YamlMistake[];
}

export interface YamlBounds {
  readonly documentsMax: number;
  /** The limit of aliases in one document. */
  readonly aliasesMax: number;
}

/**
 * Reads YAML 1.2 (core schema), of which JSON is a part. Each key must be text and stand once in its mapping.
 * Unknown tags, nesting beyond 100 levels, and too many documents or aliases are mistakes. So is a value that
 * aliases of aliases repeat more than `aliasesMax` times.
 */
export function readYaml(text: string, bounds: Partial<YamlBounds> = {}): YamlText {
  const { documentsMax = 1, aliasesMax = 0 } = bounds;
  const { documents, mistakes, placeOf } = composeYaml(text, { documentsMax, aliasesMax });
  const unreadable: YamlMistake[] = [];
  const toDocument = ({ tree: { root, at, aliasUses }, isValid }: ComposedDocument): YamlDocument => {
    const isTooMuch = isValid && aliasUses > aliasesMax;
    if (isTooMuch)
      unreadable.push({ ...placeOf(at), message: 'aliases of aliases stand for too much', isFatal: true });
    return {
      value: isValid && !isTooMuch && root ? toPlain(root) : null,
      line: placeOf(at).line,
      lineOf: (path) => placeOf(root ? offsetOf(root, path) : at).line,
    };
  };
  return { documents: documents.map(toDocument), mistakes: [...mistakes, ...unreadable] };
}

/** The trees of a text, for callers that need more than its values. */
export type ComposedYaml = ReturnType<typeof composeYaml>;

export type Place = Pick<YamlMistake, 'line' | 'column'>;

interface ComposedDocument {
  /** The tree. It has at most 100 levels, but aliases may stand for more. */
  readonly tree: YamlTree;
  readonly isValid: boolean;
}

/**
 * Reads a text as `readYaml` does, but returns trees instead of values. It does not count what aliases stand
 * for.
 */
export function composeYaml(written: string, bounds: YamlBounds) {
  // The parser counts places from the first character after a byte order mark.
  const text = written.replace(/^\uFEFF/, '');
  /** The documents of the text, at least one. */
  const documents: ComposedDocument[] = [];
  const faults: Fault[] = [];
  const found = parse(text);
  if ('fault' in found) {
    documents.push({ tree: { root: undefined, at: 0, aliasUses: 0 }, isValid: false });
    faults.push(found.fault);
  } else readDocuments(text, found.events, bounds, documents, faults);
  /** Returns the line and the column of an offset, both from 1. */
  const placeOf = createPlaces(text);
  // Of several mistakes at one place only the first is reported.
  const ordered = faults
    .sort((a, b) => a.at - b.at)
    .filter(({ at }, index) => at !== faults[index - 1]?.at)
    .slice(0, mistakesMax);
  const toMistake = ({ at, message, isFatal }: Fault): YamlMistake => ({ ...placeOf(at), message, isFatal });
  return { documents, mistakes: ordered.map(toMistake), placeOf };
}

function readDocuments(
  text: string,
  events: readonly Event[],
  { documentsMax, aliasesMax }: YamlBounds,
  documents: ComposedDocument[],
  faults: Fault[],
): void {
  let inDocument = 0;
  const reader = new TreeReader(text, events, { aliasesMax }, (code, at) => {
    inDocument += 1;
    if (inDocument > mistakesMax) return;
    const message =
      code === 'ALIAS' && aliasesMax > 0 ? `there are more than ${aliasesMax} aliases` : messages[code];
    faults.push({ at, message, isFatal: !harmless.has(code) });
  });
  for (let tree = reader.read(); tree; tree = reader.read()) {
    if (documents.length === documentsMax) {
      const message =
        documentsMax > 1
          ? `there are more than ${documentsMax} documents`
          : 'there is a second document; there may be only one';
      // The faults of a document that is not read do not count.
      faults.splice(faults.length - Math.min(inDocument, mistakesMax));
      faults.push({ at: Math.max(0, text.lastIndexOf('---', tree.at)), message, isFatal: false });
      return;
    }
    documents.push({ tree, isValid: inDocument === 0 });
    inDocument = 0;
  }
  if (documents.length === 0)
    documents.push({ tree: { root: undefined, at: 0, aliasUses: 0 }, isValid: true });
}

interface Fault extends Pick<YamlMistake, 'message' | 'isFatal'> {
  readonly at: number;
}

const messages: Readonly<Record<TreeFault, string>> = {
  ALIAS: 'aliases are not supported here',
  DUPLICATE_KEY: 'this key stands here twice',
  LOST_ALIAS: 'there is no such anchor before this alias, or it has not ended',
  NON_STRING_KEY: 'a key must be text',
  TAG: 'tags are not supported',
};
const harmless: ReadonlySet<TreeFault> = new Set(['DUPLICATE_KEY', 'TAG']);

function parse(text: string): { readonly events: readonly Event[] } | { readonly fault: Fault } {
  try {
    return { events: parseEvents(text, { maxDepth: depthMax }) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const at = error.mark?.position ?? 0;
    return { fault: { at, message: messageOf(error.reason, text, at), isFatal: true } };
  }
}

const tabs = 'lines are indented by spaces, not by tabs';

/** The beginnings of the parser's reasons, each with our message. */
const reasons: readonly (readonly [beginning: string, message: string])[] = [
  ['nesting exceeded', 'this is nested too deep'],
  ['tab characters', tabs],
  ['unknown escape', 'there is no such escape in a double-quoted text'],
  ['expected hexadecimal', 'there is no such escape in a double-quoted text'],
  ['unexpected end', 'a quote, bracket, brace, comma or colon is missing here'],
  ['missed comma', 'a quote, bracket, brace, comma or colon is missing here'],
  ["expected ':'", 'a quote, bracket, brace, comma or colon is missing here'],
  ['bad indentation', 'the indentation is wrong here'],
  ['deficient indentation', 'this must be indented, or a quote, bracket or brace before it does not end'],
  ['undeclared tag', 'tags are not supported'],
];

function messageOf(reason: string, text: string, at: number): string {
  const before = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  if (before.endsWith('$') && text[at] === '{') return 'inside of {} and [], a text with "${" must be quoted';
  if (/^ *\t/.test(before)) return tabs;
  if (reason.startsWith('bad indentation')) {
    if (text[at] === ':' && /:[ \t]/.test(before))
      return 'a text that holds ": " or ends in ":" must be quoted';
    if (text[at] === '@' || text[at] === '`') return 'a text that begins with "@" or "`" must be quoted';
  }
  return reasons.find(([beginning]) => reason.startsWith(beginning))?.[1] ?? 'this is not valid YAML';
}

/**
 * Returns a function that finds the line and the column of an offset. It looks for the lines at its first
 * call.
 */
function createPlaces(text: string): (offset: number) => Place {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= lineStartsOf(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

/** Returns the offset of the value at a path, or of the nearest one around it. */
function offsetOf(root: YamlNode, path: string): number {
  let { at } = root;
  let node: YamlNode | undefined = root;
  for (const step of path.match(/[^.[\]]+/g) ?? []) {
    while (node?.kind === 'alias') node = node.target;
    node =
      node?.kind === 'list'
        ? node.items[Number(step)]
        : node?.kind === 'mapping'
          ? node.entries.get(step)?.value
          : undefined;
    if (!node) break;
    at = node.at;
  }
  return at;
}
