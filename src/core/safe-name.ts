declare const mark: unique symbol;

/**
 * A text that may be kept and shown: either no caller chose it, or what a detector found in it was cut out.
 * Code that keeps or shows names takes no other type. So it does not compile with a caller's name that no
 * detector has read.
 */
export type SafeName = string & { readonly [mark]: true };

/** Turns a name that a caller chose into one that may be kept and shown. */
export type NameReader = (text: string) => SafeName;

/** Vouches for a text that no caller chose, or that was stored as safe. Never use it on a request. */
export const ownName = (text: string): SafeName => text as SafeName;

/** Makes a sentence of words of the code and of names that may be shown. */
export function safely(words: TemplateStringsArray, ...names: readonly (SafeName | number)[]): SafeName {
  let text = words[0] ?? '';
  // Each call writes several of these sentences, and `String.raw` takes ten times as long.
  for (const [at, name] of names.entries()) text += `${name}${words[at + 1] ?? ''}`;
  return ownName(text);
}

/** Returns the names as one, with `between` between each two. */
export const joined = (names: readonly SafeName[], between: string): SafeName => ownName(names.join(between));

/** Returns the first `lengthMax` characters of a name. */
export const shortened = (name: SafeName, lengthMax: number): SafeName => ownName(name.slice(0, lengthMax));

/** Returns a fixed text for every name of a call that nobody has read. */
export const unreadName: NameReader = () => ownName('[REDACTED:unread]');

/**
 * Matches a text without characters that turn the direction of what follows (Unicode UAX #9, 2.1 to 2.4). With
 * them a name is shown as another one than is stored.
 */
export const keepsDirection = /^[^\u202a-\u202e\u2066-\u2069]*$/;
export const keepsDirectionRule =
  'must not have characters that turn the direction of text (U+202A to 202E, 2066 to 2069)';
