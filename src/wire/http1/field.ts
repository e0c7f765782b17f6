/** Matches a field name (RFC 9110, 5.6.2). */
export const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Matches a character that no field value may have (RFC 9110, 5.5), or that latin1 lacks. */
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** Tells whether a head may have the field: name and value have only allowed characters, all of latin1. */
export const isField = (name: string, value: string): boolean =>
  token.test(name) && !forbiddenInValue.test(value);

/**
 * Tells whether a name is `lower`, which is in lower case. The length spares nearly all other names the
 * lower-casing.
 */
export const isNamed = (name: string, lower: string): boolean =>
  name.length === lower.length && name.toLowerCase() === lower;

/** Returns the values of a field, named in lower case, as one list; '' where there are none. */
export function fieldOf(fields: readonly string[], name: string): string {
  let values: string | undefined;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!isNamed(fields[i] as string, name)) continue;
    const value = fields[i + 1] as string;
    values = values === undefined ? value : `${values}, ${value}`;
  }
  return values ?? '';
}

/** Values by name in lower case. Values of one name are one list. */
export type FieldsByName = Readonly<Record<string, string | undefined>>;

/** Returns the fields by name, for whoever asks for several of them. The object inherits nothing. */
export function toFieldsByName(fields: readonly string[]): FieldsByName {
  const byName: Record<string, string> = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    byName[name] = name in byName ? `${byName[name]}, ${value}` : value;
  }
  return byName;
}
