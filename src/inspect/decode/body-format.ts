export type BodyFormat = 'json' | 'form' | 'xml' | 'multipart' | 'text';

/**
 * Returns the format of a body by its media type. A body that begins like a JSON object or array is JSON
 * under any type but XML and multipart. Clients often leave the type at their library's default.
 */
export function bodyFormat(contentType: string, bytes: Buffer): BodyFormat {
  if (contentType === 'application/json') return 'json';
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (/[/+](json|x-ndjson|ndjson|jsonl|json-seq)$/.test(type)) return 'json';
  if (/[/+](xml|html)$/.test(type)) return 'xml';
  if (type.startsWith('multipart/')) return 'multipart';
  const first = bytes
    .toString('latin1', 0, 64)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()[0];
  if (first === '{' || first === '[') return 'json';
  return type === 'application/x-www-form-urlencoded' ? 'form' : 'text';
}
