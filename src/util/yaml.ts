import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  isMap,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  visit,
} from 'yaml';

/*
 * YAML as strangers write it: whatever the text is, it is read in time and space in proportion to its length. The parser alone does
 * not promise that. It compares each key of a mapping with all the others, recurses as deep as the text nests, and lets a few aliases
 * stand for more than all the rest. And its messages quote the text, which may hold secrets, so they are said anew here.
 */

/** Deeper nesting, give or take two levels, is refused before anything recurses into it. */
const depthMax = 100;
const mistakesMax = 50;

export interface YamlMistake {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
  /** Never holds anything of the text. */
  readonly message: string;
  /** false: the rest of the text still says what it seems to say. */
  readonly isFatal: boolean;
}

export interface YamlDocument {
  /** A plain value; null for a document of comments only, and for one that has a mistake. */
  readonly value: unknown;
  /** The line of its first character, from 1. */
  readonly line: number;
  /** The line of what stands at a path such as `cases[2].expect`, or of the nearest thing around it. */
  lineOf(path: string): number;
}

export interface YamlText {
  /** At least one. */
  readonly documents: readonly YamlDocument[];
  /** The first 50 mistakes, in the order of the text. */
  readonly mistakes: readonly YamlMistake[];
}

export interface YamlBounds {
  readonly documentsMax: number;
  /** The limit of aliases in one document. */
  readonly aliasesMax: number;
}

/**
 * Reads YAML 1.2 (core schema), of which JSON is a part. Every key is a text and stands once in its mapping. Unknown
 * tags, nesting beyond 100 levels, and too many documents or aliases are mistakes. So is a value that aliases of
 * aliases repeat more than `aliasesMax` times.
 */
export function readYaml(text: string, bounds: Partial<YamlBounds> = {}): YamlText {
  const { documentsMax = 1, aliasesMax = 0 } = bounds;
  const { documents, mistakes, placeOf } = composeYaml(text, { documentsMax, aliasesMax });
  const unreadable: YamlMistake[] = [];
  const toDocument = ({ tree, isValid }: ComposedDocument): YamlDocument => {
    const start = tree.contents?.range[0] ?? tree.range[0];
    const value = isValid ? toValue(tree, aliasesMax) : null;
    if (value === undefined)
      unreadable.push({ ...placeOf(start), message: 'aliases of aliases stand for too much', isFatal: true });
    return {
      value: value ?? null,
      line: placeOf(start).line,
      lineOf: (path) => placeOf(offsetOf(tree, path) ?? start).line,
    };
  };
  return { documents: documents.map(toDocument), mistakes: [...mistakes, ...unreadable] };
}

/** undefined where aliases of aliases stand for too much. */
function toValue(tree: Document.Parsed, aliasesMax: number): unknown {
  try {
    // The parser counts what an alias stands for as well.
    return tree.toJS({ maxAliasCount: aliasesMax + 1 });
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

/** The trees of a text, for those who must know more than its values. */
export interface ComposedYaml {
  /** At least one. */
  readonly documents: readonly ComposedDocument[];
  readonly mistakes: readonly YamlMistake[];
  /** Line and column, both from 1. */
  placeOf(offset: number): Place;
}

type Place = Pick<YamlMistake, 'line' | 'column'>;

export interface ComposedDocument {
  /** At most 100 levels, save for what aliases stand for. */
  readonly tree: Document.Parsed;
  readonly isValid: boolean;
}

/** The same as `readYaml`, up to where values are made; what aliases stand for is not looked at. */
export function composeYaml(text: string, bounds: YamlBounds): ComposedYaml {
  const lines = new LineCounter();
  const documents: ComposedDocument[] = [];
  const faults: Fault[] = [];
  const tokens = tokensOf(text, lines, (offset) => faults.push({ code: 'RESOURCE_EXHAUSTION', offset }));
  for (const tree of new Composer(options).compose(tokens, true, text.length)) {
    if (documents.length === bounds.documentsMax) {
      faults.push({ code: 'MULTIPLE_DOCS', offset: tree.range[0] });
      break;
    }
    const found = [...errorsOf(tree), ...strangersIn(tree, bounds.aliasesMax)];
    documents.push({ tree, isValid: found.length === 0 });
    for (const fault of found.slice(0, mistakesMax)) faults.push(fault);
  }
  // Only the first mistake at a place is told: the parser may have several words for it.
  const ordered = faults
    .sort((a, b) => a.offset - b.offset)
    .filter(({ offset }, index) => offset !== faults[index - 1]?.offset)
    .slice(0, mistakesMax);
  const placeOf = (offset: number): Place => {
    const { line, col: column } = lines.linePos(offset);
    return { line, column };
  };
  const toMistake = ({ code, offset }: Fault): YamlMistake => ({
    ...placeOf(offset),
    message: messageOf(code, bounds),
    isFatal: !harmless.has(code),
  });
  return { documents, mistakes: ordered.map(toMistake), placeOf };
}

const options = {
  version: '1.2',
  // Also where a directive says that the text is YAML 1.1, in which `no` is false and `<<` merges.
  schema: 'core',
  resolveKnownTags: false,
  merge: false,
  stringKeys: true,
  uniqueKeys: false,
  prettyErrors: false,
} as const;

interface Fault {
  readonly code: ErrorCode | 'ALIAS' | 'LOST_ALIAS';
  readonly offset: number;
}

const messages: Readonly<Partial<Record<Fault['code'], string>>> = {
  ALIAS: 'aliases are not supported here',
  BAD_ALIAS: 'this alias is not valid',
  DUPLICATE_KEY: 'this key stands here twice',
  LOST_ALIAS: 'there is no such anchor before this alias, or it has not ended',
  MULTIPLE_DOCS: 'there is a second document; there may be only one',
  NON_STRING_KEY: 'a key must be text',
  RESOURCE_EXHAUSTION: 'this is nested too deep',
  TAB_AS_INDENT: 'lines are indented by spaces, not by tabs',
  BLOCK_AS_IMPLICIT_KEY: 'a text that holds ": " or ends in ":" must be quoted',
  BAD_INDENT: 'the indentation is wrong here',
  MISSING_CHAR: 'a quote, bracket, brace, comma or colon is missing here',
  BAD_DQ_ESCAPE: 'there is no such escape in a double-quoted text',
  TAG_RESOLVE_FAILED: 'tags are not supported',
};

function messageOf(code: Fault['code'], { documentsMax, aliasesMax }: YamlBounds): string {
  if (code === 'MULTIPLE_DOCS' && documentsMax > 1) return `there are more than ${documentsMax} documents`;
  if (code === 'ALIAS' && aliasesMax > 0) return `there are more than ${aliasesMax} aliases`;
  return messages[code] ?? 'this is not valid YAML';
}

const harmless: ReadonlySet<Fault['code']> = new Set([
  'DUPLICATE_KEY',
  'MULTIPLE_DOCS',
  'TAG_RESOLVE_FAILED',
]);

/** The tokens of a text, up to its end or to the place that is nested too deep. */
function* tokensOf(
  text: string,
  lines: LineCounter,
  tooDeep: (offset: number) => void,
): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    // Beside the collections, the document and a scalar stand there.
    if (parser.stack.length > depthMax + 2) return tooDeep(parser.offset);
  }
  yield* parser.end();
}

const errorsOf = ({ errors, warnings }: Document.Parsed): Fault[] =>
  [...errors, ...warnings].map(({ code, pos }) => ({ code, offset: pos[0] }));

/** Faults that the parser lets pass: repeated keys, too many aliases, and aliases of nothing or of themselves. */
function strangersIn(tree: Document.Parsed, aliasesMax: number): Fault[] {
  const faults: Fault[] = [];
  const note = (code: Fault['code'], { range }: Node): void => {
    faults.push({ code, offset: range?.[0] ?? tree.range[0] });
  };
  const anchors = new Set<string>();
  let aliases = 0;
  visit(tree, {
    Alias(_, alias, path) {
      if (aliases++ === aliasesMax) note('ALIAS', alias);
      const isWithin = path.some((it) => isNode(it) && it.anchor === alias.source);
      if (aliases <= aliasesMax && (isWithin || !anchors.has(alias.source))) note('LOST_ALIAS', alias);
    },
    Value(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor);
      if (!isMap(node)) return;
      const names = new Set<string>();
      for (const { key } of node.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value ?? '');
        if (names.has(name)) note('DUPLICATE_KEY', key);
        names.add(name);
      }
    },
  });
  return faults;
}

/** The offset of the value at a path, or of the nearest one around it. */
function offsetOf(tree: Document.Parsed, path: string): number | undefined {
  const steps = (path.match(/[^.[\]]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  for (let length = steps.length; length > 0; length--) {
    const node = tree.getIn(steps.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return undefined;
}
