/** Fields that say something of a body as it was before it was redacted. */
const bodyFields: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
  'signature',
  'signature-input',
  'x-amz-content-sha256',
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-trailer',
]);

const isBodyField = (name: string): boolean => bodyFields.has(name) || name.startsWith('x-amz-checksum-');

/** Returns the flat head of a request whose body was redacted, without the fields about the body before. */
export const withoutBodyFields = (fields: readonly string[]): string[] =>
  fields.filter((_, i) => !isBodyField((fields[i & ~1] as string).toLowerCase()));

/**
 * Fields that are removed from answers besides. A part of a redacted body would be a part of something else.
 */
const ofAnswers: ReadonlySet<string> = new Set([
  'content-length',
  'accept-ranges',
  'x-goog-hash',
  'x-checksum-md5',
  'x-checksum-sha1',
  'x-checksum-sha256',
]);

/**
 * Returns the flat head, or the trailers, of an answer whose body is redacted or may be, without the fields
 * about the body before. A strong ETag promises the same bytes (RFC 9110, 8.8.1); a weak one stays true.
 */
export const withoutAnswerBodyFields = (fields: readonly string[]): string[] =>
  fields.filter((_, i) => {
    const name = (fields[i & ~1] as string).toLowerCase();
    if (name === 'etag') return /^W\//.test(fields[i | 1] as string);
    return !isBodyField(name) && !ofAnswers.has(name);
  });
