/** A field name as CGI and what came of it compare names (RFC 3875, 4.1.18): `X_Hook` is `X-Hook` there, and dots and spaces are `_`. */
export const foldedName = (name: string): string => name.toLowerCase().replace(/[_. ]/g, '-');
