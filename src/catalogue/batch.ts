import { targetWithin } from '../target.ts';
import { isObject, valuesAt } from './body-path.ts';
import { rawParts } from './form.ts';
import type { Reading, Request } from './reading.ts';
import type { Batch } from './schema.ts';

/*
 * Batches: several requests in the body of one. What a vendor would do with each is what it would do with the request alone, so each is
 * made one again and understood like any other.
 */

/** In one batch; vendors take 20 to 100. */
const requestsMax = 100;
const requestLine = /^\s*([A-Za-z]{1,20})[ \t]+(\S{1,8192})(?:[ \t]+HTTP\/[\d.]{1,4})?[ \t]*\r?\n/;

/** The requests of a batch; undefined where the body is none, has too many, or says what only some readers would understand. */
export function requestsOf(batch: Batch, reading: Reading): readonly Request[] | undefined {
  const requests = batch.requests === 'multipart' ? inParts(reading) : inList(batch, reading);
  const isBounded = requests.length > 0 && requests.length <= requestsMax;
  return isBounded && requests.every((it) => it !== undefined) ? requests : undefined;
}

function inList({ requests, below, names }: Batch, reading: Reading): readonly (Request | undefined)[] {
  const lists = requests === 'multipart' ? [] : valuesAt(reading.json(), requests);
  if (reading.isUnclear) return [];
  return lists
    .flatMap((list) => (Array.isArray(list) ? list.slice(0, requestsMax + 1) : [undefined]))
    .map((it) => {
      const {
        [names.method]: method = 'GET',
        [names.url]: url,
        [names.body]: body,
        headers,
      } = isObject(it) ? it : {};
      if (typeof method !== 'string' || typeof url !== 'string') return undefined;
      const fields = isObject(headers)
        ? Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
        : [];
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      return requestAt(reading.request, below, { method, url, fields, text, value: body });
    });
}

function inParts(reading: Reading): readonly (Request | undefined)[] {
  const { contentType } = reading.request;
  return rawParts(reading.request.bodyText() ?? '', contentType, requestsMax + 1).map((part) => {
    const line = requestLine.exec(part);
    const [whole = '', method = '', url = ''] = line ?? [];
    const [head = '', ...body] = part.slice(whole.length).split(/\r?\n\r?\n/);
    const fields = head.split(/\r?\n/).flatMap((field) => {
      const colon = field.indexOf(':');
      return colon > 0 ? [field.slice(0, colon).trim(), field.slice(colon + 1).trim()] : [];
    });
    const text = body.join('\n\n');
    return line
      ? requestAt(reading.request, false, { method, url, fields, text, value: parsed(text) })
      : undefined;
  });
}

interface Described {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly string[];
  readonly text: string | undefined;
  /** Undefined where there is no body; a text stands for what is no JSON. */
  readonly value: unknown;
}

/** At the host of the batch, whatever host its URL names: that is whom the vendor sends it to. */
function requestAt(around: Request, below: boolean, described: Described): Request | undefined {
  const { method, url, fields, text, value } = described;
  const { scheme, host, port, path } = around.target;
  if (scheme !== 'http' && scheme !== 'https') return undefined;
  const own = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const written = url.slice(own.length);
  const rooted = written.startsWith('/') ? written : `/${written}`;
  const [aroundPath = ''] = path.split('?', 1);
  const base = below && own === '' ? aroundPath.slice(0, aroundPath.lastIndexOf('/')) : '';
  return {
    method: method.toUpperCase(),
    target: targetWithin(scheme, host, port, `${base}${rooted}`),
    headers: fields,
    contentType: contentTypeIn(fields) ?? (text === undefined ? '' : 'application/json'),
    bodyText: () => text,
    mentions: (word) => text?.includes(word) ?? false,
    bodyValue: () =>
      value === undefined
        ? { kind: 'none' }
        : isObject(value) || Array.isArray(value)
          ? { kind: 'value', readings: [value] }
          : { kind: 'unclear' },
  };
}

function contentTypeIn(fields: readonly string[]): string | undefined {
  const at = fields.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
  return at < 0 ? undefined : fields[at + 1];
}

/** Undefined where there is nothing. */
function parsed(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON; the vendor may still read it.
    return text;
  }
}
