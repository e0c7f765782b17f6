/*
 * Whom a message addresses (RFC 5322). Servers are lenient, so this is too: what is malformed is still told, as it stands.
 */

/** Splits where commas and semicolons stand outside of quotes, comments and angle brackets: `"Doe, Ann" <ann@acme.com>, bob@acme.com`. */
export function addressesOf(text: string): readonly string[] {
  const addresses: string[] = [];
  /** Of the address that is read, without its comments. */
  let current = '';
  let start = 0;
  let isQuoted = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string;
    const isSeparator = (sign === ',' || sign === ';') && depth === 0 && !isQuoted;
    if (isSeparator) {
      addresses.push(...addressesIn(current, text.slice(start, at)));
      current = '';
      start = at + 1;
      continue;
    }
    const isEscape = sign === '\\';
    if (sign === '"' && depth === 0) isQuoted = !isQuoted;
    // Comments are those of addresses; a name may have brackets.
    else if (sign === '(' && !isQuoted && text.includes('@')) depth++;
    if (depth === 0) current += isEscape ? text.slice(at, at + 2) : sign;
    if (sign === ')' && !isQuoted) depth = Math.max(0, depth - 1);
    if (isEscape) at++;
  }
  // A quote or a comment that is never closed hides nothing: some servers do not honour it.
  const isOpen = isQuoted || depth > 0;
  const last = text.slice(start);
  if (isOpen) addresses.push(...last.split(/[,;(")]/).flatMap((it) => addressesIn(it)));
  else addresses.push(...addressesIn(current, last));
  return addresses.filter((it) => it !== '');
}

const quoted = /"(?:[^"\\]|\\.){0,1024}"/gs;
const inBrackets = /<([^<>]{0,1024})>/g;
const groupName = /^[\w\s.-]{1,128}:\s*/;

/**
 * `Ann <ann@acme.com>` is ann@acme.com, and so is the first of a group (`team: ann@acme.com`). Of several in brackets each counts. What is no
 * address without what seems a comment is taken as `written`.
 */
function addressesIn(bare: string, written = bare): readonly string[] {
  const text = bare.includes('@') ? bare : written;
  const bracketed = text.includes('<') ? [...text.replace(quoted, '').matchAll(inBrackets)] : [];
  if (bracketed.length > 0) return bracketed.map(([, address = '']) => withoutSpace(address));
  const trimmed = text.trim();
  return [trimmed.includes('@') ? withoutSpace(trimmed.replace(groupName, '')) : trimmed];
}

/** White space may stand around each sign of an address (3.4.1). */
const withoutSpace = (address: string): string => address.trim().replace(/\s{0,64}([@.])\s{0,64}/g, '$1');

const headBytesMax = 65_536;
const recipientField = /^(?:resent-)?(?:to|cc|bcc)[ \t]*:/i;
const isEncoded = /^[\w+/=\s-]+$/;

/**
 * The recipients that a message names in its head, which may be encoded in base64 or base64url as a whole. With `*`, which is nobody's
 * address, where there is no head or more of it than 64 KB: then nobody knows them all.
 */
export function messageRecipients(message: string): readonly string[] {
  const text = isEncoded.test(message.slice(0, headBytesMax))
    ? Buffer.from(message.slice(0, 2 * headBytesMax), 'base64').toString('latin1')
    : message;
  const [head = ''] = text.slice(0, headBytesMax).split(/\r?\n\r?\n/, 1);
  const isWhole = head.length < headBytesMax;
  // A field goes on in the lines that begin with white space (2.2.3).
  const fields = head.replace(/\r?\n(?=[ \t])/g, '').split(/\r?\n/);
  if (!fields.some((field) => field.includes(':'))) return ['*'];
  const recipients = fields
    .filter((field) => recipientField.test(field))
    .flatMap((field) => addressesOf(field.slice(field.indexOf(':') + 1)));
  return isWhole ? recipients : [...recipients, '*'];
}
