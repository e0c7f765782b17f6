/**
 * A field name as CGI and what came of it compare names (RFC 3875, 4.1.18): `X_Hook` is `X-Hook` there, and some servers take every other
 * sign for `_` as well.
 */
export const foldedName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');
