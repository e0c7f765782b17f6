const stringOrSpace = /("(?:[^"\\]|\\.)*")|\s+/g;

/** Returns the value of a JSON text; undefined where reading would lose something, such as a repeated key. */
export function readExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text.replace(stringOrSpace, (_, it) => it ?? '') ? value : undefined;
  } catch {
    return undefined;
  }
}
