/** A part of a multipart body. Its name is undefined where its head gives none, as in `multipart/related`. */
interface Part {
  readonly name: string | undefined;
  readonly value: string;
}

const partsMax = 10_000;
const partHeadMax = 2048;
const boundaryParameter = /;\s*boundary\s*=\s*(?:"([^"\\]{1,200})"|([^\s";,]{1,200}))/gi;
const nameParameter = /;\s*name\s*=\s*(?:"([^"\\]*)"|([^\s";\\]+))\s*(?=;|$)/gi;
const blankLine = /\r?\n\r?\n/;
const plainTransfer = /^content-transfer-encoding:\s*(?:7bit|8bit|binary)\s*$/i;
const charsetParameter = /charset\s*=\s*"?(?!utf-?8\b|us-ascii\b|iso-8859-1\b)/i;

/**
 * Returns the parts of a multipart body (RFC 2046, 5.1; RFC 7578), in time linear in the text. Returns
 * undefined where servers may read the body differently. That is so with text before the first or behind the
 * last part, and with a boundary that shares its line. A part may not have a transfer encoding, another
 * character set, or a name that is missing, escaped or there twice. There may be 10,000 parts.
 */
export function parseMultipart(text: string, contentType: string): readonly Part[] | undefined {
  const [parameter, ...more] = contentType.matchAll(boundaryParameter);
  const boundary = parameter?.[1] ?? parameter?.[2];
  if (boundary === undefined || more.length > 0) return undefined;
  const isFormData = /^\s*multipart\/form-data\s*;/i.test(contentType);
  const sections = text.split(`--${boundary}`, partsMax + 3);
  const [preamble = '', ...rest] = sections;
  const epilogue = rest.pop();
  if (preamble.trim() !== '' || sections.length > partsMax + 2 || !epilogue?.startsWith('--'))
    return undefined;
  if (epilogue.slice(2).trim() !== '') return undefined;
  const parts: Part[] = [];
  for (const section of rest) {
    const part = parsePart(section);
    if (part === undefined || (isFormData && part.name === undefined)) return undefined;
    parts.push(part);
  }
  return parts;
}

/**
 * Parses the text between two boundaries, each of which stands on its own line; undefined where servers may
 * read it differently.
 */
function parsePart(section: string): Part | undefined {
  const lineEnd = /^[ \t]{0,64}\r?\n/.exec(section)?.[0];
  const valueEnd = /\r?\n$/.exec(section.slice(-2))?.[0];
  if (lineEnd === undefined || valueEnd === undefined) return undefined;
  // Without a head, the line end behind the boundary is part of the blank line.
  const from = lineEnd.length - (lineEnd.endsWith('\r\n') ? 2 : 1);
  const gap = blankLine.exec(section.slice(from, from + partHeadMax));
  if (!gap) return undefined;
  const valueStart = from + gap.index + gap[0].length;
  const head = readHead(section.slice(from, from + gap.index));
  return (
    head && {
      name: head.name,
      value: section.slice(valueStart, Math.max(valueStart, section.length - valueEnd.length)),
    }
  );
}

function readHead(head: string): { readonly name: string | undefined } | undefined {
  let disposition: string | undefined;
  for (const line of head.split(/\r?\n/)) {
    if (line === '') continue;
    if (/^\s|\r/.test(line)) return undefined;
    if (/^content-transfer-encoding/i.test(line) && !plainTransfer.test(line)) return undefined;
    if (/^content-type/i.test(line) && (charsetParameter.test(line) || /multipart\//i.test(line)))
      return undefined;
    if (!/^content-disposition/i.test(line)) continue;
    if (disposition !== undefined) return undefined;
    disposition = line;
  }
  if (disposition === undefined) return { name: undefined };
  const names = [...disposition.matchAll(nameParameter)];
  if (names.length > 1 || /;\s*name\s*\*/i.test(disposition)) return undefined;
  const [, quoted, bare] = names[0] ?? [];
  const name = quoted ?? bare;
  return name === undefined && /;\s*name\b/i.test(disposition) ? undefined : { name };
}
