import { GatewayError } from '../core/errors.ts';
import { isSessionCookie, sessionCookie } from '../core/session-cookie.ts';
import { fieldOf, isNamed } from '../wire/http1/field.ts';

/*
 * Refuses pages on the listener of the console. An answer that an inbound route brings there would be a page
 * of the console's own origin. Its scripts could act for whoever is signed in. Programs, and scripts of
 * pages, ask for data; a browser that wants to show something says so.
 */

/**
 * Fields for what an upstream answers on that listener. A browser may show an answer without telling that it
 * will. By these fields it gives the answer no origin, runs none of it, and takes no text for a script. A
 * field without a value is removed from the answer. It would have browsers keep something for a whole origin
 * or host, even for a script. That is for the console to say.
 */
export const withoutOrigin: readonly string[] = [
  'Content-Security-Policy',
  "sandbox; default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options',
  'nosniff',
  ...['Clear-Site-Data', '', 'Strict-Transport-Security', '', 'Service-Worker-Allowed', ''],
  ...['Nel', '', 'Report-To', '', 'Reporting-Endpoints', ''],
];

/**
 * Returns why a browser that would show or run the answer is refused; undefined where none would. `fields` is
 * flat.
 */
export function whyShownAsPage(fields: readonly string[]): GatewayError | undefined {
  const destination = fieldOf(fields, 'sec-fetch-dest').toLowerCase();
  const isData = destination === '' || destination === 'empty' || destination === 'websocket';
  // Browsers tell no destination where the connection is plain text. They still wish for this where they
  // navigate.
  const isNavigation =
    fieldOf(fields, 'sec-fetch-mode').toLowerCase() === 'navigate' ||
    fieldOf(fields, 'upgrade-insecure-requests') !== '';
  if (isData && !isNavigation) return undefined;
  return new GatewayError(
    'FORBIDDEN',
    'This listener also serves the console, so a browser may not show what an inbound route brings; use proxy.listen.',
  );
}

/**
 * Removes the session of the console from the fields of a call, since no upstream shall see it. Browsers send
 * it to whatever answers on this host. `fields` is flat, and returned as it is where it has no session.
 */
export function withoutSession(fields: readonly string[]): readonly string[] {
  let kept: string[] | undefined;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const value = fields[i + 1] as string;
    if (!isNamed(fields[i] as string, 'cookie') || !value.includes(sessionCookie)) continue;
    kept ??= [...fields];
    const others = value.split(';').map((it) => it.trim());
    kept[i + 1] = others.filter((it) => !isSessionCookie(it)).join('; ');
  }
  return kept ?? fields;
}
