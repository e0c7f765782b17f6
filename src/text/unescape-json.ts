import { unescapeJsonInto } from '../scan/json-unescape.ts';
import { jsonEscapes } from './json-escapes.ts';
import { SpanMap } from './span-map.ts';
import { appendLiteral, Output, type Unescaped } from './unescape.ts';

/** What one escape stands for; more than any does. Emptied for each of them. */
const decoded = new Output(64);

/** The text without the escapes of JSON, or undefined where there are none. `check` is called now and then and may throw. */
export function unescapeJson(bytes: Buffer, check: () => void): Unescaped | undefined {
  const spans = new SpanMap();
  const out = new Output(bytes.length);
  unescapeJsonInto(
    bytes,
    {
      get length() {
        return out.length;
      },
      append(plain, pieces) {
        spans.addAll(pieces);
        out.bytes.set(plain, out.length);
        out.length += plain.length;
      },
      appendOther(at) {
        decoded.length = 0;
        const length = jsonEscapes.read(bytes, at, decoded);
        if (length === 0) appendLiteral(out, spans, bytes, at, at + 1);
        else if (decoded.length > 0) spans.addWhole(out.length, at, at + length);
        out.copy(decoded.bytes, 0, decoded.length);
        return at + Math.max(1, length);
      },
    },
    check,
  );
  if (out.length === bytes.length) return undefined;
  return { bytes: out.bytes.subarray(0, out.length), spans, names: [jsonEscapes.name] };
}
