import { hash } from 'node:crypto';
import { isObject } from '../catalogue/body-path.ts';
import type { ToolParameter } from '../risk/signals/risky-parameters.ts';
import { toCanonicalJson } from '../state/rules/canonical-json.ts';

/*
 * Reads the lists of tools that MCP servers send, with what they say of each tool. Strangers write all of it.
 */

export interface ListedTools {
  /** The entries of the list, of any type. */
  readonly tools: readonly unknown[];
  readonly hasMore: boolean;
}

const toolsName = /"(?:t|\\u0074)(?:o|\\u006f)(?:o|\\u006f)(?:l|\\u006c)(?:s|\\u0073)"/i;

/**
 * Tells whether a text may contain a list of tools. It is cheap, and true for every text in which `toolLists`
 * finds one.
 */
export const mayListTools = (text: string): boolean => toolsName.test(text);

/**
 * Returns the lists in a JSON-RPC message, or in an array of them (MCP 2025-06-18, "Listing Tools"). Any
 * result with an array `tools` is a list. Undefined where the text is no JSON; clients may still read
 * something in it.
 */
export function toolLists(text: string): readonly ListedTools[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
  return (Array.isArray(value) ? value : [value]).flatMap((message) => {
    const result = isObject(message) && message['result'];
    const tools = isObject(result) && result['tools'];
    if (!isObject(result) || !Array.isArray(tools)) return [];
    return [{ tools, hasMore: typeof result['nextCursor'] === 'string' }];
  });
}

/** A tool as its server describes it. */
export interface DescribedTool {
  readonly name: string;
  /** The digest of all but the name: 128 bits of SHA-256 over canonical JSON, in base64url. */
  readonly version: string;
  /** All texts that agents may read in it, one a line. */
  readonly text: string;
  readonly parameters: readonly ToolParameter[];
}

/** The limit of nested levels, beyond any real schema. */
const depthMax = 64;
const parametersMax = 2_000;

/** Describes a tool; undefined for one that is nested too deep. */
export function describeTool(tool: unknown): DescribedTool | undefined {
  const { name, ...rest } = isObject(tool) ? tool : { name: undefined, tool };
  const texts: string[] = [];
  const parameters: ToolParameter[] = [];
  const waiting: { value: unknown; depth: number }[] = [{ value: rest, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string') texts.push(value);
    if (typeof value !== 'object' || value === null) continue;
    if (depth > depthMax) return undefined;
    if (isObject(value)) parameters.push(...parametersIn(value).slice(0, parametersMax - parameters.length));
    // The last value is taken first, so they are pushed in reverse.
    for (const inner of Object.values(value).reverse()) waiting.push({ value: inner, depth: depth + 1 });
  }
  const digest = hash('sha256', toCanonicalJson(rest), 'buffer');
  return {
    name: typeof name === 'string' ? name : '',
    version: digest.toString('base64url', 0, 16),
    text: texts.join('\n'),
    parameters,
  };
}

/** Returns the parameters of a JSON Schema: the members of `properties`. */
function parametersIn({ properties }: Record<string, unknown>): ToolParameter[] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, schema]) => {
    const description = isObject(schema) ? schema['description'] : undefined;
    return { name, description: typeof description === 'string' ? description : '' };
  });
}
