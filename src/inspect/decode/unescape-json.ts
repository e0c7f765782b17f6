import { unescapeJsonInto } from '../kernel/json-unescape.ts';
import { jsonEscapes } from './forms/json-escapes.ts';
import { SpanMap } from './span-map.ts';
import { appendLiteral, Output, type Unescaped } from './unescape.ts';

/** What one escape stands for; more than any does. Emptied for each of them. */
const decoded = new Output(64);

/** The text without the escapes of JSON, or undefined where there are none. `check` is called now and then and may throw. */
export function unescapeJson(bytes: Buffer, check: () => void): Unescaped | undefined {
  const spans = new SpanMap();
  const plain = plainOf(bytes, spans, check);
  return plain.length === bytes.length ? undefined : { bytes: plain, spans, names: [jsonEscapes.name] };
}

/** The same where nobody asks for the places. */
export const plainJson = (bytes: Buffer): Buffer => plainOf(bytes, undefined, () => undefined);

function plainOf(bytes: Buffer, spans: SpanMap | undefined, check: () => void): Buffer {
  const out = new Output(bytes.length);
  unescapeJsonInto(
    bytes,
    {
      length: () => out.length,
      append(plain, piecesOf) {
        spans?.addAll(piecesOf());
        out.bytes.set(plain, out.length);
        out.length += plain.length;
      },
      appendOther(at) {
        decoded.length = 0;
        const length = jsonEscapes.read(bytes, at, decoded);
        if (decoded.length > 0) spans?.addWhole(out.length, at, at + length);
        else if (length === 0 && spans) appendLiteral(out, spans, bytes, at, at + 1);
        else if (length === 0) out.push(bytes[at] as number);
        out.copy(decoded.bytes, 0, decoded.length);
        return at + Math.max(1, length);
      },
    },
    check,
  );
  return out.bytes.subarray(0, out.length);
}
