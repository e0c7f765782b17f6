import { beginsLikeDelimiter, multipartParts } from '../multipart-parts.ts';
import type { Span } from '../span-map.ts';
import { isColumnName, type TableReader, trimmed } from './cell.ts';

/** Bound on the bytes of a part's head in which its name is looked for. */
const headBytesMax = 512;
const fieldName =
  /^content-disposition:(?![^\r\n]{0,400}filename)[^\r\n]{0,64};[ \t]*name="([^"\r\n]{1,64})"/im;

/** Reads the fields of a form that is sent in parts (RFC 7578). A line above each value has its name. */
export const multipart: TableReader = {
  mayHold: () => true,
  read(bytes, take, budget) {
    if (!beginsLikeDelimiter(bytes)) return;
    budget.work(bytes.length);
    for (const { head, content } of multipartParts(bytes)) {
      const name = nameIn(bytes, head);
      if (name && isColumnName(bytes, name)) take(name, trimmed(bytes, content));
    }
  },
};

function nameIn(bytes: Buffer, { start, end }: Span): Span | undefined {
  const text = bytes.toString('latin1', start, Math.min(end, start + headBytesMax));
  const found = fieldName.exec(text);
  if (!found) return undefined;
  const [whole, name = ''] = found;
  const at = start + found.index + whole.lastIndexOf(`"${name}"`) + 1;
  return { start: at, end: at + name.length };
}
