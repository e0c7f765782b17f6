declare const mark: unique symbol;

/**
 * A text that may be kept and shown: either no caller chose it, or what a detector found in it was cut out.
 * What keeps or shows names takes no other, so that a name of a caller's which was not looked through does
 * not compile.
 */
export type SafeName = string & { readonly [mark]: true };

/** Turns a name that a caller chose into one that may be kept and shown. */
export type NameReader = (text: string) => SafeName;

/** Vouches for a text that no caller chose, or that was stored as safe. Never use it on a request. */
export const ownName = (text: string): SafeName => text as SafeName;

/** Puts a sentence together of words of the code and of names that may be shown. */
export function safely(words: TemplateStringsArray, ...names: readonly (SafeName | number)[]): SafeName {
  let text = words[0] ?? '';
  // Each call writes several of these sentences, and `String.raw` takes ten times as long.
  for (const [at, name] of names.entries()) text += `${name}${words[at + 1] ?? ''}`;
  return ownName(text);
}

/** Returns the same of several, with `between` between each two. */
export const joined = (names: readonly SafeName[], between: string): SafeName => ownName(names.join(between));

/** Cuts a name to a length. */
export const shortened = (name: SafeName, lengthMax: number): SafeName => ownName(name.slice(0, lengthMax));

/** Stands for every name of a call that nobody has read. */
export const unreadName: NameReader = () => ownName('[REDACTED:unread]');
