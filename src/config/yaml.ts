import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { dotted, type Mistake, type Path } from './mistakes.ts';

/** What a text says, and where it says it. */
export interface Source {
  readonly value: unknown;
  readonly mistakes: readonly Mistake[];
  /** The line of the key or item, or of the nearest thing around it. */
  lineOf(path: Path): number | undefined;
  /** Whether a text stands in the file itself, rather than being put in from outside. */
  isLiteral(path: Path): boolean;
}

const depthMax = 32;
const nodesMax = 500_000;

// The parser's own messages quote the text, and the text holds secrets.
const faults: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key stands here twice',
  MULTIPLE_DOCS: 'the file holds a second document; there may be only one',
  NON_STRING_KEY: 'a key must be text',
  RESOURCE_EXHAUSTION: 'this is nested too deep',
  TAB_AS_INDENT: 'lines are indented by spaces, not by tabs',
  BLOCK_AS_IMPLICIT_KEY: 'a text that holds ": " or ends in ":" must be quoted',
  BAD_INDENT: 'the indentation is wrong here',
  MISSING_CHAR: 'a quote, bracket, brace, comma or colon is missing here',
  BAD_DQ_ESCAPE: 'there is no such escape in a double-quoted text',
  BAD_ALIAS: 'this alias is not valid',
  TAG_RESOLVE_FAILED: 'tags are not supported',
};

/** Faults after which the rest of the text still says what it seems to say. */
const harmless = new Set(['DUPLICATE_KEY', 'MULTIPLE_DOCS', 'TAG_RESOLVE_FAILED']);

type Resolve = (text: string, complain: (message: string) => void) => string;

/**
 * Reads one YAML 1.2 document (core schema). `resolve` puts variables and files into its texts. A key whose value is null says
 * nothing, so it becomes undefined. Nesting and the number of values are bounded, aliases included.
 */
export function readYaml(text: string, resolve: Resolve): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    stringKeys: true,
    lineCounter: lines,
  });
  const reader = new Reader(document, lines, resolve);
  const faultsFound = [...document.errors, ...document.warnings];
  for (const { code, pos } of faultsFound) {
    reader.mistakes.push({
      path: '',
      line: lines.linePos(pos[0]).line,
      message: faults[code] ?? 'this is not valid YAML',
    });
  }
  const isReadable = faultsFound.every((it) => harmless.has(it.code));
  const value = isReadable && document.contents ? reader.read(document.contents, [], 0) : undefined;
  return {
    value,
    mistakes: reader.mistakes,
    lineOf: (path) => reader.lineOf(path),
    isLiteral: (path) => reader.isLiteral(path),
  };
}

class Reader {
  readonly mistakes: Mistake[] = [];
  /** Paths of texts into which something was put. */
  readonly #resolved = new Set<string>();
  readonly #lineByPath = new Map<string, number>();
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #resolve: Resolve;
  #nodes = 0;

  constructor(document: Document.Parsed, lines: LineCounter, resolve: Resolve) {
    this.#document = document;
    this.#lines = lines;
    this.#resolve = resolve;
  }

  read(node: Node | null, path: Path, depth: number): unknown {
    if (++this.#nodes > nodesMax || depth > depthMax) {
      // Said once: everything around it would say the same.
      if (this.#nodes < Number.MAX_SAFE_INTEGER)
        this.#complain(path, 'there are too many values, or they are nested too deep');
      this.#nodes = Number.MAX_SAFE_INTEGER;
      return undefined;
    }
    if (isAlias(node)) {
      const target = node.resolve(this.#document);
      if (!target) this.#complain(path, 'there is no such anchor before this alias');
      return target ? this.read(target, path, depth + 1) : undefined;
    }
    if (isMap(node)) return this.#mapping(node.items, path, depth);
    if (isSeq(node))
      return node.items.map((item, index) => this.#item(item as Node | null, [...path, index], depth));
    if (!isScalar(node)) return undefined;
    if (typeof node.value === 'string') return this.#text(node.value, path);
    if (node.value !== null && typeof node.value === 'object') this.#complain(path, 'tags are not supported');
    return node.value;
  }

  lineOf(path: Path): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lineByPath.get(dotted(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return undefined;
  }

  isLiteral(path: Path): boolean {
    const at = dotted(path);
    return this.#lineByPath.has(at) && !this.#resolved.has(at);
  }

  #item(node: Node | null, path: Path, depth: number): unknown {
    this.#note(node, path);
    return this.read(node, path, depth + 1);
  }

  #mapping(
    items: readonly { key: unknown; value: unknown }[],
    path: Path,
    depth: number,
  ): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    for (const { key, value } of items) {
      if (!isScalar(key)) continue;
      const name = String(key.value);
      const inner = [...path, name];
      this.#note(key, inner);
      // The one key with which an ordinary object could be changed instead of filled.
      if (name === '__proto__') this.#complain(inner, 'unknown key');
      else entries[name] = this.read(value as Node | null, inner, depth + 1) ?? undefined;
    }
    return entries;
  }

  /** A text to which its references add nothing says nothing, so that `${env:PARENT_PROXY:-}` may stand for none. */
  #text(text: string, path: Path): string | undefined {
    const value = this.#resolve(text, (message) => this.#complain(path, message));
    if (value === text) return text;
    this.#resolved.add(dotted(path));
    return value === '' ? undefined : value;
  }

  #note(node: Node | null, path: Path): void {
    if (node?.range) this.#lineByPath.set(dotted(path), this.#lines.linePos(node.range[0]).line);
  }

  #complain(path: Path, message: string): void {
    this.mistakes.push({ path: dotted(path), line: this.lineOf(path), message });
  }
}
