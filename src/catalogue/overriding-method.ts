import { GatewayError } from '../core/errors.ts';
import { foldedName } from '../wire/http1/folded-name.ts';
import { isObject } from './body-path.ts';
import { decodeField, formStart, multipartFields } from './protocols/form.ts';
import type { Request } from './request.ts';

/**
 * Names of fields that override the method, in lower case, with `-` for every character that servers fold.
 */
const overrides = new Set([
  ...['-method', '-httpmethod'],
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
  // Proxies tell the client's method in these.
  ...['x-forwarded-method', 'x-original-method'],
]);
const lengths = { least: '_method'.length, most: 'x-http-method-override'.length } as const;
/** Length of the longest name where each character is an escape. */
const encodedNameMax = 3 * lengths.most;
const nulMax = '%00'.length;
/** Bound on the methods of one call, since each is classified by itself. */
const methodsMax = 8;
const none: readonly string[] = Object.freeze([]);

type Head = Pick<Request, 'method' | 'headers' | 'target'>;
/** A request that may name another method. It is a head alone before its body has come. */
type Overridable = Head | (Head & Pick<Request, 'contentType' | keyof Content>);
type Content = Pick<Request, 'bodyText' | 'bodyValue' | 'mentions' | 'isInOtherCharset'>;

/**
 * Returns the methods, in upper case, that frameworks may take instead of the request's own. A header names
 * them, or `_method` in the query, or in form or JSON of a POST. Whether the vendor does so, and which of
 * several it takes, is not known: all are judged and the strictest counts. Throws VALIDATION_FAILED where
 * there are more than 8.
 */
export function overridingMethods(request: Overridable): readonly string[] {
  const { method, headers, target } = request;
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2)
    if (isOverridingField(headers[i] ?? '')) values.push(headers[i + 1] ?? '');
  const question = target.path.indexOf('?');
  if (question >= 0) takeFields(target.path.slice(question + 1), values);
  if ('bodyText' in request && method.toUpperCase() === 'POST') takeBody(request, values);
  return values.length === 0 ? none : methodsIn(values, method.toUpperCase());
}

function takeBody(request: Content & Pick<Request, 'contentType'>, values: string[]): void {
  const { contentType } = request;
  const type = contentType.toLowerCase();
  if (type.includes('json')) takeJson(request, values);
  else if (type.startsWith('application/x-www-form-urlencoded')) {
    takeFields(request.bodyText() ?? '', values);
    takeUnclear(request, values);
  }
  // Some servers take a body without a type for a form.
  else if (type === '') takeFields(formIn(request), values);
  else if (type.startsWith('multipart/')) {
    const text = request.bodyText() ?? '';
    const mayHide = hidesName.test(text) || (text.length >= longText && hidingNames.some(request.mentions));
    if (!mayHide && !mentionsMethod.test(text) && !methodNames.some(request.mentions)) return;
    for (const { name, value } of multipartFields(text, contentType))
      if (isOverride(name)) values.push(value);
    if (mayHide && request.bodyValue().kind === 'unclear') values.push(...anyMethod);
    else takeUnclear(request, values);
  }
}

/**
 * Matches the name of a part that servers read differently: with an escape (RFC 9110, 5.6.4), or in the form
 * of RFC 2231.
 */
const hidesName = /;\s{0,64}name\s{0,64}(?:=\s{0,64}"[^"\r\n]{0,256}\\|\*[\d*\s]{0,8}=)/i;
/**
 * The number of characters from which a text may be only the head of its body. `hidingNames` are then looked
 * for in all of the body: they are beginnings of what `hidesName` matches.
 */
const longText = 300_000;
const hidingNames = [
  ...[' name*', ';name*'],
  ...Array.from('_method', (_, at) => `name="${'_method'.slice(0, at)}\\`),
];

/**
 * Adds any method where a body names one, and servers may take the body apart differently or it is not read
 * to its end.
 */
function takeUnclear({ mentions, bodyValue }: Content, values: string[]): void {
  if (methodNames.some(mentions) && bodyValue().kind === 'unclear') values.push(...anyMethod);
}

/** Names of fields for the method, in the spellings that frameworks take. */
const methodNames = ['_method', '_METHOD', '_Method', '_httpmethod', '_httpMethod', '_HttpMethod'];

const formIn = ({ mentions, bodyText }: Content): string => {
  const text = mentions('method') ? (bodyText() ?? '') : '';
  return formStart.test(text) ? text : '';
};

/** Methods that may be meant where nobody can tell. */
const anyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const jsonName = '_method';
/**
 * Beginnings of escapes for characters of the name. The common beginning is looked for first: most bodies
 * lack it.
 */
const escapesOfAscii = ['\\u005', '\\u006', '\\u007'];
const anyEscapeOfAscii = '\\u00';

/** Adds the method that JSON names: some frameworks merge the fields of JSON into those of forms. */
function takeJson({ mentions, bodyValue, isInOtherCharset }: Content, values: string[]): void {
  const isMentioned = mentions(jsonName) || isInOtherCharset();
  if (!isMentioned && !(mentions(anyEscapeOfAscii) && escapesOfAscii.some(mentions))) return;
  const body = bodyValue();
  if (body.kind === 'unclear' && isMentioned) values.push(...anyMethod);
  for (const reading of body.kind === 'value' ? body.readings : []) {
    const value = isObject(reading) ? reading[jsonName] : undefined;
    if (typeof value === 'string') values.push(value);
  }
}

const mentionsMethod = /method/i;
/** Matches what may name a method, which spares nearly all queries and forms the parsing. */
const mayNameMethod = /method|%/i;

function takeFields(text: string, values: string[]): void {
  if (!mayNameMethod.test(text)) return;
  // Some servers take `;` for `&`. Values may be long, so only those of matching names are decoded.
  for (const pair of text.split(/[&;]/)) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    // PHP skips blanks before a name and reads no further than NUL.
    const start = /^(?:[+ ]|%20)*/.exec(pair)?.[0].length ?? 0;
    const name =
      pair.slice(start, Math.min(equals, start + encodedNameMax + nulMax)).split(/%00|\0/, 1)[0] ?? '';
    if (name.length > encodedNameMax) continue;
    const decoded = decodeField(name);
    const lower = decoded.toLowerCase();
    if (isOverride(decoded) || lower === googles.method) values.push(decodeField(pair.slice(equals + 1)));
    else if (lower === googles.headers) takeHeaders(decodeField(pair.slice(equals + 1)), values);
  }
}

/** Google takes method and header fields from the query, for pages that may not send them. */
const googles = { method: '$httpmethod', headers: '$httpheaders' } as const;

function takeHeaders(text: string, values: string[]): void {
  for (const line of text.split(/[\r\n]+/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && isOverridingField(line.slice(0, colon).trim())) values.push(line.slice(colon + 1));
  }
}

/**
 * Tells whether a header names the method. It looks at the first letter first, since it runs over all headers
 * of every call.
 */
const isOverridingField = (name: string): boolean =>
  (name.charCodeAt(0) | 0x20) === 0x78 && isNamedSo(name, foldedName);

const isNamedSo = (name: string, fold: (name: string) => string): boolean =>
  name.length >= lengths.least && name.length <= lengths.most && overrides.has(fold(name));

/** Tells whether a field of a query, a form or JSON names the method. */
const isOverride = (name: string): boolean =>
  isNamedSo((name.split('\0', 1)[0] ?? '').trim(), foldedParameter);

/** Returns the name as PHP folds it. */
const foldedParameter = (name: string): string => name.toLowerCase().replace(/[_. [-]/g, '-');

/**
 * Returns all methods in the values but the request's own. Each word of a value counts: the request's own
 * method must not hide another behind it.
 */
function methodsIn(values: readonly string[], own: string): readonly string[] {
  const methods = new Set(values.flatMap((value) => value.toUpperCase().match(/[A-Z][A-Z-]{0,31}/g) ?? []));
  methods.delete(own);
  if (methods.size > methodsMax)
    throw new GatewayError('VALIDATION_FAILED', `A call may name ${methodsMax} methods beside its own.`);
  return [...methods];
}
