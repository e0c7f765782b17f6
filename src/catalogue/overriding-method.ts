import type { Request } from './reading.ts';

const overrides = new Set(['x-http-method-override', 'x-http-method', 'x-method-override']);

/**
 * The method that frameworks take instead of the request's own, by header or by `_method` in the query. Whether the vendor
 * does so is not known, hence both are judged and the stricter counts.
 */
export function overridingMethod({
  method,
  headers,
  target,
}: Pick<Request, 'method' | 'headers' | 'target'>): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    // Sorted out by length first: this runs over all headers of every call.
    if (name.length < 13 || name.length > 22 || !overrides.has(name.toLowerCase())) continue;
    const value = (headers[i + 1] ?? '').trim().toUpperCase();
    // One that names the method itself must not hide another behind it.
    if (value !== method.toUpperCase()) return value;
  }
  return /[?&]_method=([A-Za-z]{1,20})(?:&|$)/.exec(target.path)?.[1]?.toUpperCase();
}
