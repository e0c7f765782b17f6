/*
 * Finds the people and hosts that a message addresses (RFC 5322). Servers are lenient, so this is too:
 * malformed text is returned as it stands.
 */

/** Bound on the addresses of one text, which is more than a call keeps. */
const addressesMax = 2000;
const piecesMax = 10_000;

/** Returns the host of a URL. What is no URL stays as it is: it is still whom the call addresses. */
export const hostOf = (url: string): string => URL.parse(url)?.hostname || url;

const address = /[^\s@'"<>()[\]{},;:/\\]{1,64}@[^\s@'"<>()[\]{},;:/\\]{1,255}/g;

/** Returns the mail addresses in any text, such as a URL that names a user: `users('ann@acme.com')`. */
export const addressesWithin = (text: string): readonly string[] => text.match(address) ?? [];

/**
 * Splits a text at commas and semicolons outside of quotes, comments and brackets: `"Doe, Ann"
 * <ann@acme.com>`. Adds `*` where the rest of a text is not read.
 */
export function addressesOf(text: string): readonly string[] {
  const addresses: string[] = [];
  const add = (found: readonly string[]): void => {
    for (const it of found) if (it !== '') addresses.push(it);
  };
  /** The present address, without its comments. */
  let current = '';
  let start = 0;
  let isQuoted = false;
  let depth = 0;
  const mayHaveComments = text.includes('@');
  for (let at = 0; at < text.length && addresses.length < addressesMax; at++) {
    const sign = text[at] as string;
    const isSeparator = (sign === ',' || sign === ';') && depth === 0 && !isQuoted;
    if (isSeparator) {
      add(addressesIn(current, text.slice(start, at)));
      current = '';
      start = at + 1;
      continue;
    }
    const isEscape = sign === '\\';
    if (sign === '"' && depth === 0) isQuoted = !isQuoted;
    // Only addresses have comments; a name without `@` may have brackets.
    else if (sign === '(' && !isQuoted && mayHaveComments) depth++;
    if (depth === 0) current += isEscape ? text.slice(at, at + 2) : sign;
    if (sign === ')' && !isQuoted) depth = Math.max(0, depth - 1);
    if (isEscape) at++;
  }
  // A quote or a comment that is never closed hides nothing: some servers do not honour it.
  const isOpen = isQuoted || depth > 0;
  const last = text.slice(start);
  const pieces = isOpen ? last.split(/[,;(")]/, piecesMax) : [];
  for (const piece of pieces) add(addressesIn(piece));
  if (!isOpen) add(addressesIn(current, last));
  // The rest is not read, so it may name anybody.
  if (pieces.length === piecesMax || addresses.length >= addressesMax) addresses.push('*');
  return addresses;
}

const quoted = /"(?:[^"\\]|\\.){0,1024}"/gs;
const inBrackets = /<([^<>]*)>/g;
const groupName = /^[\w\s.-]{1,128}:\s*/;
const betweenTokens = /[\s<>\\,;\0]+/;

/**
 * Returns the addresses in one piece: `Ann <ann@acme.com>` is ann@acme.com, and so is the first of a group
 * (`team: ann@acme.com`). All addresses of the piece count, in brackets or not: servers may take either. If
 * no address is left without the comments, `written` is taken instead.
 */
function addressesIn(bare: string, written = bare): readonly string[] {
  const text = bare.includes('@') ? bare : written;
  const unquoted = text.includes('<') ? text.replace(quoted, '') : text;
  const bracketed = [...unquoted.matchAll(inBrackets)].map(([, address = '']) => withoutSpace(address));
  if (bracketed.length > 0) {
    const beside = withoutSpace(unquoted.replace(inBrackets, ' ')).split(betweenTokens);
    return [...bracketed, ...beside.filter((it) => /[^@]@[^@]/.test(it) && !bracketed.includes(it))];
  }
  const trimmed = text.trim();
  if (!trimmed.includes('@')) return [trimmed];
  const address = withoutSpace(trimmed.replace(groupName, ''));
  const isOne = address.indexOf('@') === address.lastIndexOf('@');
  return isOne ? [address] : address.split(betweenTokens).filter((it) => it.includes('@'));
}

/** Removes the white space that may stand around each sign of an address (RFC 5322, 3.4.1). */
const withoutSpace = (address: string): string => address.trim().replace(/\s{0,64}([@.])\s{0,64}/g, '$1');

const headBytesMax = 65_536;
const recipientField = /^(?:resent-)?(?:to|cc|bcc)[ \t]*:/i;
const encodedText = /^[\w+/=\s-]+$/;
/** Matches a code with nothing behind its padding, since decoders differ on what stands there. */
const wholeCode = /^[^=]*={0,2}\s*$/;
/**
 * Matches heads that servers may read differently: for some a lone control character ends a line, or white
 * space hides the first field.
 */
const oddHead = /\r(?!\n)|[\0\v\f]|^\s/;
const fieldLine = /^[!-9;-~]+[ \t]*:/;

/**
 * Returns the recipients that a message names in its head. The whole message may be encoded in base64 or
 * base64url. Adds `*`, nobody's address, where servers may find other recipients. That is so without a head,
 * with more than 64 KB of it, or with lines that are no fields.
 */
export function messageRecipients(message: string): readonly string[] {
  const start = message.slice(0, headBytesMax);
  const isEncoded = encodedText.test(start);
  const text = isEncoded
    ? Buffer.from(message.slice(0, 2 * headBytesMax), 'base64').toString('latin1')
    : message;
  const [head = ''] = text.slice(0, headBytesMax).split(/\r?\n\r?\n/, 1);
  // A field goes on in the lines that begin with white space (2.2.3).
  const fields = head.replace(/\r?\n(?=[ \t])/g, '').split(/\r?\n/);
  const recipients = fields
    .filter((field) => recipientField.test(field))
    .flatMap((field) => addressesOf(field.slice(field.indexOf(':') + 1)));
  const isPlain =
    head.length < headBytesMax && !oddHead.test(head) && fields.every((field) => fieldLine.test(field));
  return isPlain && (!isEncoded || wholeCode.test(start)) ? recipients : [...recipients, '*'];
}
