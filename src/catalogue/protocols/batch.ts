import { ifValid, targetWithin } from '../../core/target.ts';
import { isObject, textsOf, valuesAt } from '../body-path.ts';
import type { Batch } from '../load/schema.ts';
import type { RequestReading } from '../reading.ts';
import { headerValues, type Request } from '../request.ts';
import { parseMultipart } from './multipart.ts';

/*
 * A batch has several requests in one body. A vendor does with each what it would do with that request alone.
 * So each is made a request again and understood like any other.
 */

/** Bound on the requests of one batch; vendors take 20 to 100. */
const requestsMax = 100;
const requestLine = /^\s*([A-Za-z]{1,20})[ \t]+(\S{1,8192})(?:[ \t]+HTTP\/[\d.]{1,4})?[ \t]*\r?\n/;

/** Returns the requests of a batch; undefined where it has none or too many, or readers may differ on it. */
export function requestsOf(batch: Batch, reading: RequestReading): readonly Request[] | undefined {
  const requests = batch.requests === 'multipart' ? inParts(reading) : inList(batch, reading);
  const isBounded = requests.length > 0 && requests.length <= requestsMax;
  return isBounded && requests.every((it) => it !== undefined) ? requests : undefined;
}

function inList(batch: Batch, reading: RequestReading): readonly (Request | undefined)[] {
  const { requests, below } = batch;
  const lists = requests === 'multipart' ? [] : valuesAt(reading.body.json(), requests, true);
  if (reading.isUnclear) return [];
  return lists
    .flatMap((list) => (Array.isArray(list) ? list.slice(0, requestsMax + 1) : [undefined]))
    .map((it) => {
      const described = isObject(it) ? describedBy(it, batch) : undefined;
      return described && requestAt(reading.request, below, described);
    });
}

/**
 * Reads the fields of a request in a list, in any case. Returns undefined where they do not tell for sure
 * what the request is.
 */
function describedBy(written: Record<string, unknown>, { names, wrap }: Batch): Described | undefined {
  const fields = new Map<string, unknown>();
  for (const [name, value] of Object.entries(written)) {
    const folded = name.toLowerCase();
    if (fields.has(folded)) return undefined;
    fields.set(folded, value);
  }
  const [method, url, body, headers] = [names.method, names.url, names.body, names.headers].map((it) =>
    fields.get(it.toLowerCase()),
  );
  if (typeof method !== 'string' || typeof url !== 'string') return undefined;
  const described = {
    method,
    url,
    fields: isObject(headers)
      ? Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
      : [],
  };
  if (body === undefined) return { ...described, text: undefined };
  if (wrap !== undefined && /^(?:get|head)$/i.test(method))
    return { ...described, url: withQuery(url, queryOf(body)), text: undefined };
  if (typeof body === 'string') return { ...described, text: body };
  return { ...described, text: JSON.stringify(wrap === undefined ? body : { [wrap]: body }) };
}

const queryOf = (parameters: unknown): string =>
  isObject(parameters)
    ? new URLSearchParams(
        Object.entries(parameters).flatMap(([name, value]) => textsOf(value).map((it) => [name, it])),
      ).toString()
    : '';

const withQuery = (url: string, query: string): string =>
  query === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${query}`;

/**
 * Returns the requests in the parts of a multipart body. Headers and query of the batch hold for each
 * request, but not the headers about its body.
 */
function inParts({ request }: RequestReading): readonly (Request | undefined)[] {
  if (request.bodyValue().kind === 'unclear') return [];
  const { path } = request.target;
  const query = path.includes('?') ? path.slice(path.indexOf('?') + 1) : '';
  const common = request.headers.flatMap((name, at) =>
    at % 2 > 0 || /^content-/i.test(name) ? [] : [name, request.headers[at + 1] ?? ''],
  );
  const parts = parseMultipart(request.bodyText() ?? '', request.contentType) ?? [];
  return parts.slice(0, requestsMax + 1).map(({ value: part }) => {
    const line = requestLine.exec(part);
    const [whole = '', method = '', url = ''] = line ?? [];
    // The line end behind the first line may be part of the blank line, where the head is empty.
    const rest = `\r\n${part.slice(whole.length)}`;
    const blank = /\r?\n\r?\n/.exec(rest);
    const head = rest.slice(0, blank?.index);
    const own = head.split(/\r?\n/).flatMap((field) => {
      const colon = field.indexOf(':');
      return colon > 0 ? [field.slice(0, colon).trim(), field.slice(colon + 1).trim()] : [];
    });
    const text = blank ? rest.slice(blank.index + blank[0].length) : '';
    const described = { method, url: withQuery(url, query), fields: [...own, ...common], text };
    return line ? requestAt(request, false, described) : undefined;
  });
}

interface Described {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly string[];
  readonly text: string | undefined;
}

/**
 * Makes a request to the host of the batch, whatever host its URL names: the vendor sends it there. Returns
 * undefined where the target is none.
 */
function requestAt(around: Request, below: Batch['below'], described: Described): Request | undefined {
  const { method, url, fields, text = '' } = described;
  const { scheme, host, port, path } = around.target;
  if (scheme !== 'http' && scheme !== 'https') return undefined;
  const own = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const written = url.slice(own.length);
  const rooted = written.startsWith('/') ? written : `/${written}`;
  const aroundPath = path.split('?', 1)[0]?.replace(/\/+$/, '') ?? '';
  const above = typeof below === 'string' ? below : aroundPath.slice(0, aroundPath.lastIndexOf('/'));
  const base = below && own === '' && !`${rooted}/`.startsWith(`${below}/`) ? above : '';
  const [contentType = text === '' ? '' : 'application/json'] = headerValues(fields, 'content-type');
  // Nobody can tell what the vendor makes of a text that is no path.
  const target = ifValid(() => targetWithin(scheme, host, port, `${base}${rooted}`.replaceAll(' ', '%20')));
  if (!target) return undefined;
  return {
    method: method.toUpperCase(),
    target,
    headers: fields,
    contentType,
    bodyText: () => text,
    mentions: (word) => text.includes(word),
    bodyValue: () => around.structureOf(contentType, text),
    isInOtherCharset: () => around.isInOtherCharset(),
    structureOf: around.structureOf,
  };
}
