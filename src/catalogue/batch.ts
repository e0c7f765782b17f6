import { targetWithin } from '../target.ts';
import { isObject, valuesAt } from './body-path.ts';
import { rawParts } from './form.ts';
import { headerValues, type Reading, type Request } from './reading.ts';
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
      return requestAt(reading.request, below, { method, url, fields, text });
    });
}

function inParts({ request }: Reading): readonly (Request | undefined)[] {
  if (request.bodyValue().kind === 'unclear') return [];
  return rawParts(request.bodyText() ?? '', request.contentType, requestsMax + 1).map((part) => {
    const line = requestLine.exec(part);
    const [whole = '', method = '', url = ''] = line ?? [];
    const [head = '', ...body] = part.slice(whole.length).split(/\r?\n\r?\n/);
    const fields = head.split(/\r?\n/).flatMap((field) => {
      const colon = field.indexOf(':');
      return colon > 0 ? [field.slice(0, colon).trim(), field.slice(colon + 1).trim()] : [];
    });
    const text = body.join('\n\n');
    return line ? requestAt(request, false, { method, url, fields, text }) : undefined;
  });
}

interface Described {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly string[];
  readonly text: string | undefined;
}

/** At the host of the batch, whatever host its URL names: that is whom the vendor sends it to. */
function requestAt(around: Request, below: boolean, described: Described): Request | undefined {
  const { method, url, fields, text = '' } = described;
  const { scheme, host, port, path } = around.target;
  if (scheme !== 'http' && scheme !== 'https') return undefined;
  const own = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const written = url.slice(own.length);
  const rooted = written.startsWith('/') ? written : `/${written}`;
  const [aroundPath = ''] = path.split('?', 1);
  const base = below && own === '' ? aroundPath.slice(0, aroundPath.lastIndexOf('/')) : '';
  const [contentType = text === '' ? '' : 'application/json'] = headerValues(fields, 'content-type');
  return {
    method: method.toUpperCase(),
    target: targetWithin(scheme, host, port, `${base}${rooted}`),
    headers: fields,
    contentType,
    bodyText: () => text,
    mentions: (word) => text.includes(word),
    bodyValue: () => around.structureOf(contentType, text),
    isInOtherCharset: () => around.isInOtherCharset(),
    structureOf: around.structureOf,
  };
}
