/** Steps into a JSON value; `*` is every element of a list. */
export type BodyPath = readonly (string | number | '*')[];

const valuesMax = 10_000;
const step = /\.([A-Za-z_][\w-]*)|\[(\*|\d{1,6})\]/y;

/** Parses `$.field`, `$.nested.field`, `$.items[*].field` and `$.items[0]`; undefined for anything else. */
export function parseBodyPath(text: string): BodyPath | undefined {
  if (!text.startsWith('$')) return undefined;
  const steps: (string | number)[] = [];
  step.lastIndex = 1;
  while (step.lastIndex < text.length) {
    const match = step.exec(text);
    if (!match) return undefined;
    const [, field, index = ''] = match;
    steps.push(field ?? (index === '*' ? '*' : Number(index)));
  }
  return steps;
}

/**
 * Returns all values at the path, at most 10,000 of them. Only a value's own fields are followed, never those
 * of a prototype. An object in the place of a list counts as its only element, and so do the object's fields:
 * some servers read it so.
 */
export function valuesAt(root: unknown, path: BodyPath, ignoresCase = false): readonly unknown[] {
  let values: unknown[] = root === undefined ? [] : [root];
  for (const name of path) {
    values = values.flatMap((value) => {
      if (Array.isArray(value)) return name === '*' ? value : typeof name === 'number' ? [value[name]] : [];
      if (!isObject(value) || typeof name === 'number') return [];
      if (name === '*') return [value, ...Object.values(value)];
      return ignoresCase ? fieldsInAnyCase(value, name) : Object.hasOwn(value, name) ? [value[name]] : [];
    });
    if (values.length > valuesMax) values.length = valuesMax;
  }
  return values;
}

function fieldsInAnyCase(value: Record<string, unknown>, name: string): readonly unknown[] {
  const lower = name.toLowerCase();
  return Object.keys(value).flatMap((key) =>
    key === name || (key.length === name.length && key.toLowerCase() === lower) ? [value[key]] : [],
  );
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the texts of a value: itself, or the members of a list. Numbers and booleans count as texts. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  return Array.isArray(value)
    ? value.slice(0, valuesMax).flatMap((item) => (Array.isArray(item) ? [] : textsOf(item)))
    : [];
}
