/**
 * How the names of the cookies of the console's sessions begin. The API sets them. The proxy neither lets an
 * upstream see one, of whichever daemon of this host, nor set one.
 */
export const sessionCookie = 'postern_session';

/** Browsers take `=name=value` for a cookie without a name, and send it as `name=value`. */
const named = new RegExp(`^[\\s=]*(?:__Host-)?${sessionCookie}(?:_[^=;\\s]*)?\\s*=`, 'i');

/** Tells whether `name=value` is a session of the console, of this daemon or of another one. */
export const isSessionCookie = (pair: string): boolean => named.test(pair);
