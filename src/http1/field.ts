/** What a field's name consists of (RFC 9110, 5.6.2). */
export const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What no field value may have (RFC 9110, 5.5), or no byte of latin1 can carry. */
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether a head may have the field: both are characters of latin1. */
export const isField = (name: string, value: string): boolean =>
  token.test(name) && !forbiddenInValue.test(value);
