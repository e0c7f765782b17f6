import type { TenantConfig } from '../../config/schema.ts';
import { type AssessedCall, operationAndParts } from '../../core/call.ts';
import { JsonTokens, spellJsonString } from '../../inspect/decode/json-tokens.ts';
import { bodyValue } from '../facts/body.ts';

/** Places in a message of JSON-RPC that every client makes anew for each try (MCP 2025-06-18, Progress). */
const anew: ReadonlySet<string> = new Set(['id', 'params._meta.progressToken']);
/** The fields of a message (JSON-RPC 2.0, 4 and 5). What has others may be for an API where `id` is an argument. */
const fields: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/** A UUID in quotes has 38 bytes; more would carry something along. */
const idBytesMax = 40;

/**
 * Returns the bytes of a body by which calls are identical. Of one message of MCP or A2A these are all but its
 * id, or no call would meet its grant; of any other body all.
 */
export function comparedBody(call: AssessedCall<TenantConfig>): Buffer {
  const { received, operation, tenant } = call;
  const { body } = received;
  if (!operationAndParts(operation).every(({ toolName }) => toolName === 'mcp' || toolName === 'a2a'))
    return body;
  const value = bodyValue(received, tenant.maxDecodedBytes);
  // A body that may be read in two ways has two ids.
  if (value.kind !== 'value' || value.readings.length !== 1 || received.contentEncoding !== '') return body;
  return withoutIds(body);
}

/**
 * Returns a message without the values of the places in `anew`, where those are short texts or numbers. Other
 * JSON is returned as it is.
 */
export function withoutIds(json: Buffer): Buffer {
  const tokens = new JsonTokens(json);
  const kept: Buffer[] = [];
  const path: string[] = [];
  let name = '';
  let from = 0;
  let isName = false;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === '{' || kind === '[') path.push(kind === '[' ? '[]' : name);
    else if (kind === '}' || kind === ']') path.pop();
    else if (kind === ':') isName = false;
    else if (kind === 'string' && isName) {
      name = spellJsonString(json, tokens.start, tokens.end);
      if (path.length === 1 && !fields.has(name)) return json;
    } else if (kind !== ',' && isShort(tokens) && anew.has([...path.slice(1), name].join('.'))) {
      kept.push(json.subarray(from, tokens.start));
      from = tokens.end;
    }
    if (kind === '{' || kind === ',') isName = path.at(-1) !== '[]';
  }
  return from === 0 ? json : Buffer.concat([...kept, json.subarray(from)]);
}

const isShort = ({ start, end }: JsonTokens): boolean => end - start <= idBytesMax;
