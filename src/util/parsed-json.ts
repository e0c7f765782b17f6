/** Returns the value of a JSON text; undefined where it is none. The parser's error quotes the text, so it is dropped. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the members of a JSON object; undefined for any other text. */
export function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsedJson(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
