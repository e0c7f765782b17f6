/*
 * Whom a message addresses (RFC 5322). Servers are lenient, so this is too: what is malformed is still told, as it stands.
 */

/** Splits where commas and semicolons stand outside of quotes, comments and angle brackets: `"Doe, Ann" <ann@acme.com>, bob@acme.com`. */
export function addressesOf(text: string): readonly string[] {
  const addresses: string[] = [];
  let start = 0;
  let isQuoted = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '\\') at++;
    else if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (sign === '(') depth++;
    else if (sign === ')') depth = Math.max(0, depth - 1);
    else if ((sign === ',' || sign === ';') && depth === 0) {
      addresses.push(addressIn(text.slice(start, at)));
      start = at + 1;
    }
  }
  const last = text.slice(start);
  // A quote or a comment that is never closed hides nothing: some servers do not honour it.
  const isOpen = isQuoted || depth > 0;
  addresses.push(...(isOpen ? last.split(/[,;]/).map(addressIn) : [addressIn(last)]));
  return addresses.filter((it) => it !== '');
}

/** `Ann <ann@acme.com>` is ann@acme.com, and so is the first of a group (`team: ann@acme.com`). */
function addressIn(text: string): string {
  const trimmed = text.trim();
  const open = trimmed.lastIndexOf('<');
  const close = trimmed.indexOf('>', open);
  if (open >= 0 && close > open) return trimmed.slice(open + 1, close).trim();
  const group = /^[\w\s.-]{1,128}:\s*/.exec(trimmed)?.[0].length ?? 0;
  return trimmed.includes('@') ? trimmed.slice(group) : trimmed;
}

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
