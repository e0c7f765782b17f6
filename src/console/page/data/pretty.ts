const widthMax = 76;

/** JSON for people: what fits into a line stands in one. */
export function pretty(value: unknown, indent = ''): string {
  const line = inline(value);
  if (indent.length + line.length <= widthMax || typeof value !== 'object' || value === null) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return `[\n${value.map((it) => inner + pretty(it, inner)).join(',\n')}\n${indent}]`;
  const fields = Object.entries(value).filter(([, it]) => it !== undefined);
  return `{\n${fields.map(([name, it]) => `${inner}${JSON.stringify(name)}: ${pretty(it, inner)}`).join(',\n')}\n${indent}}`;
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, it]) => it !== undefined);
  if (fields.length === 0) return '{}';
  return `{ ${fields.map(([name, it]) => `${JSON.stringify(name)}: ${inline(it)}`).join(', ')} }`;
}
