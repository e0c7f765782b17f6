/**
 * The beginning of the names of the console's session cookies, which the API sets. The proxy lets no upstream
 * see or set such a cookie, of any daemon on this host.
 */
export const sessionCookie = 'postern_session';

/**
 * The form of a session cookie. Browsers take `=name=value` for a cookie without a name, and send it as
 * `name=value`.
 */
const named = new RegExp(`^[\\s=]*(?:__Host-)?${sessionCookie}(?:_[^=;\\s]*)?\\s*=`, 'i');

/** Tells whether `name=value` is a session of the console of this daemon or of another one. */
export const isSessionCookie = (pair: string): boolean => named.test(pair);
