import { isUtf8 } from 'node:buffer';
import { type FormField, formPiecesOf, formStart, parseFields } from '../../catalogue/protocols/form.ts';
import { parseMultipart } from '../../catalogue/protocols/multipart.ts';
import type { BodyValue } from '../../core/call.ts';
import { JsonTokens, spellJsonString } from '../../inspect/decode/json-tokens.ts';
import { foldName } from '../../policy/index.ts';
import { withoutLongStrings } from '../trace/long-values.ts';

/*
 * The structure of a body. A body that Postern and the vendor read differently must not evade a rule that
 * limits a field. Therefore bytes count more than the declared type, and an ambiguous body is read in both
 * ways or is unclear.
 */

/** The largest body that is parsed. A larger one is unclear, since parsing it would block all other calls. */
export const structuredBytesMax = 1_048_576;
export const jsonDepthMax = 512;
export const formFieldsMax = 10_000;
const linesMax = 10_000;

const none: BodyValue = Object.freeze({ kind: 'none' });
const unclear: BodyValue = Object.freeze({ kind: 'unclear' });
const ofReadings = (readings: readonly unknown[]): BodyValue =>
  readings.length === 0 ? none : { kind: 'value', readings };

/**
 * Returns the structure of JSON (one text, or one a line), a urlencoded form, or multipart. Its time is
 * linear in the body. A repeated form field makes one reading for each of its values.
 */
export function parseCallBody(contentType: string, body: Buffer): BodyValue {
  if (body.length === 0) return none;
  const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const start = contentStart(body);
  const first = body[start];
  const isForm = type === 'application/x-www-form-urlencoded';
  const isMultipart = type.startsWith('multipart/');
  const isJson = type.includes('json');
  const looksJson = first === 0x7b || first === 0x5b;
  const looksForm = isForm || formStart.test(body.toString('latin1', start, start + 300));
  if (isInOtherCharset(contentType, body))
    return isJson || isForm || isMultipart || looksWide(body) ? unclear : none;
  if (!isJson && !looksJson && !looksForm && !isMultipart) return unreadType.test(type) ? unclear : none;
  if (body.length - start > structuredBytesMax) return unclear;
  const content = body.subarray(start);
  if (isJson || looksJson) {
    const json = readJson(content);
    // The text is JSON and declared as a form. A server that takes it for a form finds other fields in it.
    return json.kind === 'value' && isForm ? joined(json.readings, readForm(content)) : json;
  }
  return isMultipart ? readMultipart(content, contentType) : readForm(content);
}

/** Types with fields that servers take in place of JSON: Elasticsearch, Kubernetes, Salesforce and others. */
const unreadType = /yaml|smile|msgpack|bson|kubernetes\.protobuf/;

const joined = (readings: readonly unknown[], other: BodyValue): BodyValue =>
  other.kind === 'value' ? ofReadings([...readings, ...other.readings]) : other;

/** Returns the place behind a byte order mark and all white space and control characters. */
function contentStart(body: Buffer): number {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  while (at < body.length && (body[at] ?? 0) <= 0x20) at += 1;
  return at;
}

const asciiCharsets = /^(?:utf-?8|us-ascii|ascii|iso-8859-1|latin-?1|windows-1252)$/i;
const charset = /;\s*charset\s*=\s*"?([^\s";]{1,64})/gi;

/**
 * Tells whether the body is in a character set that does not write ASCII as itself, by its declaration or its
 * beginning.
 */
export function isInOtherCharset(contentType: string, body: Buffer): boolean {
  if (looksWide(body)) return true;
  if (!/charset/i.test(contentType)) return false;
  return [...contentType.matchAll(charset)].some(([, name = '']) => !asciiCharsets.test(name));
}

/**
 * Tells whether a body is UTF-16 or UTF-32, by its byte order mark or by the zero bytes beside an opening
 * bracket.
 */
function looksWide(body: Buffer): boolean {
  const [a = 1, b = 1, c = 1, d = 1] = body;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return true;
  if (a !== 0 && b !== 0) return false;
  const char = [a, b, c, d].find((byte) => byte !== 0);
  return char === 0x7b || char === 0x5b;
}

function readJson(content: Buffer): BodyValue {
  if (!isUtf8(content)) return unclear;
  const short = withoutLongStrings(content);
  if (!isPlainJson(short?.bytes ?? content)) return unclear;
  const most = short && parse(short.bytes.toString('utf8'));
  if (most && typeof most.value === 'object') {
    short.restore(most.value);
    return ofReadings([most.value]);
  }
  const text = content.toString('utf8');
  const whole = parse(text);
  if (whole !== undefined) return ofReadings([whole.value]);
  const values: unknown[] = [];
  for (let from = 0; from < text.length; ) {
    const lineEnd = text.indexOf('\n', from);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const line = text.slice(from, end).trim();
    from = end + 1;
    if (line === '') continue;
    const parsed = parse(line);
    if (parsed === undefined || values.length === linesMax) return unclear;
    values.push(parsed.value);
  }
  return values.length > 0 ? ofReadings(values) : unclear;
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The caller decides whether that makes the body unclear.
    return undefined;
  }
}

/**
 * Tells whether no object repeats a key, and nothing is nested too deep to be parsed. Of a repeated key each
 * parser takes another value.
 */
function isPlainJson(content: Buffer): boolean {
  /** The keys of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  const tokens = new JsonTokens(content);
  let awaitsKey = false;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === '{' || kind === '[') {
      open.push(kind === '{' ? new Set() : undefined);
      if (open.length > jsonDepthMax) return false;
    } else if (kind === '}' || kind === ']') {
      open.pop();
    } else if (kind === 'string' && awaitsKey) {
      const keys = open.at(-1);
      const key = spellJsonString(content, tokens.start, tokens.end);
      if (keys?.has(key)) return false;
      keys?.add(key);
    }
    awaitsKey = (kind === '{' || kind === ',') && open.at(-1) !== undefined;
  }
  return true;
}

function readForm(content: Buffer): BodyValue {
  const text = content.toString('utf8');
  const fields = parseFields(text, formFieldsMax + 1);
  const pieces = text.includes(';') ? formPiecesOf(text, formFieldsMax + 1) : [];
  if (fields.length + pieces.length > formFieldsMax) return unclear;
  return ofReadings([...toReadings(fields), ...toReadings(pieces), ...payloadsIn(fields)]);
}

function readMultipart(content: Buffer, contentType: string): BodyValue {
  const parts = parseMultipart(content.toString('utf8'), contentType);
  if (parts === undefined) return unclear;
  const readings: unknown[] = [];
  const fields: FormField[] = [];
  for (const { name, value } of parts) {
    if (name !== undefined) {
      fields.push({ name, value });
      continue;
    }
    const part = parseCallBody('', Buffer.from(value));
    if (part.kind === 'unclear') return unclear;
    if (part.kind === 'value') readings.push(...part.readings);
  }
  return ofReadings([...toReadings(fields), ...payloadsIn(fields), ...readings]);
}

/** Fields of a form that hold the whole of what is sent as JSON (Slack, Mattermost; Discord). */
const payloadNames = ['payload', 'payload_json'];

function payloadsIn(fields: readonly FormField[]): readonly unknown[] {
  return fields
    .filter(({ name }) => payloadNames.includes(foldName(name)))
    .flatMap(({ value }) => parse(value)?.value ?? []);
}

/**
 * Returns the fields as one object. Repeated fields, in any spelling, go into further objects. A field `a[b]`
 * is there under its name and as field `b` of `a`. Where that conflicts with another field, it is in an
 * object of its own.
 */
function toReadings(fields: readonly FormField[]): readonly unknown[] {
  const readings: Tree[] = [];
  const apart: Tree[] = [];
  const seen = new Map<string, number>();
  for (const { name, value } of fields) {
    const folded = foldName(name);
    const times = seen.get(folded) ?? 0;
    seen.set(folded, times + 1);
    const reading = readings[times] ?? newTree();
    readings[times] = reading;
    for (const keys of keysOf(name))
      if (!put(reading, keys, value)) {
        const tree = newTree();
        put(tree, keys, value);
        apart.push(tree);
      }
  }
  return [...readings, ...apart];
}

const nestingMax = 32;

/**
 * Returns the plain name and, for `items[0][amount]`, also the path. A path that is deeper than a rule can
 * ask for is left out.
 */
function keysOf(name: string): readonly (readonly string[])[] {
  const start = name.indexOf('[');
  if (start < 1 || !name.endsWith(']')) return [[name]];
  const keys = [name.slice(0, start), ...name.slice(start + 1, -1).split('][', nestingMax)];
  return keys.length > nestingMax ? [[name]] : [[name], keys];
}

/** An object without a prototype, so that `__proto__` is a field like any other. */
interface Tree {
  [key: string]: string | Tree;
}
const newTree = (): Tree => Object.create(null);

/**
 * Puts a value in, and returns true. Returns false, and does nothing, where another value stands there or on
 * the way.
 */
function put(root: Tree, keys: readonly string[], value: string): boolean {
  let tree = root;
  for (let at = 0; at < keys.length - 1; at++) {
    const key = keys[at] ?? '';
    const next = tree[key] ?? newTree();
    if (typeof next === 'string') return false;
    tree[key] = next;
    tree = next;
  }
  const last = keys.at(-1) ?? '';
  if (tree[last] !== undefined) return false;
  tree[last] = value;
  return true;
}
