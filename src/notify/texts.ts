import { ownName, type SafeName } from '../core/safe-name.ts';

/* Bounds the texts in notices, whoever has chosen them. */

const summaryLengthMax = 300;
const textLengthMax = 2_048;
const itemsMax = 20;
/** Characters of all fields as JSON. */
const dataCharsMax = 8_192;

/** Returns a text as one line of at most 300 characters. */
export function oneLine(text: SafeName): SafeName {
  const line = text.replace(/\p{Cc}+/gu, ' ').toWellFormed();
  return ownName(
    line.length <= summaryLengthMax
      ? line
      : `${line
          .slice(0, summaryLengthMax - 1)
          .toWellFormed()
          .replace(/\uFFFD$/, '')}…`,
  );
}

export const factTextOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, textLengthMax).toWellFormed() : null;

/** Returns a stored name, which was made safe before; null where there is none. */
export const storedName = (value: unknown): SafeName | null => {
  const text = factTextOf(value);
  return text === null ? null : ownName(text);
};

export const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((it): it is string => typeof it === 'string').slice(0, itemsMax) : [];

/** Returns fields with texts and lists shortened. If they stay too long, the longest fields are left out. */
export function cut(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const short = Object.entries(fields).map(([name, value]) => [name, shortened(value)] as const);
  const bySize = short
    .map(([name, value]) => ({ name, chars: JSON.stringify(value).length }))
    .sort((a, b) => b.chars - a.chars);
  let chars = bySize.reduce((sum, it) => sum + it.chars + it.name.length + 4, 0);
  const left = new Set<string>();
  for (const it of bySize) {
    if (chars <= dataCharsMax) break;
    left.add(it.name);
    chars -= it.chars + it.name.length + 4;
  }
  return Object.fromEntries(short.filter(([name]) => !left.has(name)));
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, textLengthMax).toWellFormed();
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(shortened);
  return value ?? null;
}
