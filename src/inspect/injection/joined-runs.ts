import { parsedJson } from '../../util/parsed-json.ts';

/*
 * Joins texts of JSON that readers see as one: runs of a formatted text, words of a transcript, lines of a cell,
 * choices of a model, each in an element of a list of its own.
 */

const depthMax = 64;
const runsMax = 20_000;
/** Fewer runs hide nothing, and phrases stand whole in longer ones. */
const runsMin = 4;
const meanLengthMax = 48;
/** Paths of blocks that agents are shown as one text, however few and long they are: those of MCP and of chats. */
const blocks = /(?:^|\.)content\[\]\.text$/;
/** Number of characters at an end of a block that may belong to an order in two blocks. */
const edgeLength = 256;

/** Returns the joined texts of a JSON document, in time linear in it; none where it is no JSON. */
export function joinedRuns(bytes: Buffer): readonly string[] {
  if (!bytes.includes('[') || !/^\s*[[{]/.test(bytes.toString('latin1', 0, 64))) return none;
  const runs = new Map<string, string[]>();
  collect(parsedJson(bytes.toString()), '', runs, 0);
  return [...runs].flatMap(([path, texts]) => {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    if (texts.length < runsMin || length > texts.length * meanLengthMax)
      return blocks.test(path) && texts.length > 1 ? texts.map(edgesOf).join('\n') : none;
    // Runs with their own blanks are joined as they are, words by themselves with blanks.
    return texts.join(texts.some((text) => /^\s|\s$/.test(text)) || length < texts.length * 2 ? '' : ' ');
  });
}

const none: readonly never[] = Object.freeze([]);

/** Returns both ends of a block; the whole where it is short. */
const edgesOf = (text: string): string =>
  text.length <= 2 * edgeLength ? text : `${text.slice(0, edgeLength)}\n${text.slice(-edgeLength)}`;

/** Gathers strings by their path, in which all elements of a list are one. */
function collect(value: unknown, path: string, runs: Map<string, string[]>, depth: number): void {
  if (typeof value === 'string') {
    const texts = runs.get(path) ?? [];
    if (runs.size >= runsMax || texts.length >= runsMax) return;
    texts.push(value);
    runs.set(path, texts);
  }
  if (typeof value !== 'object' || value === null || depth === depthMax) return;
  const isList = Array.isArray(value);
  for (const [name, inner] of Object.entries(value))
    collect(inner, isList ? `${path}[]` : `${path}.${name}`, runs, depth + 1);
}
