const stringOrSpace = /("(?:[^"\\]|\\.)*")|\s+/g;

/** The value of a JSON text; undefined where reading it would lose something, such as a key that stands twice. */
export function readExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text.replace(stringOrSpace, (_, it) => it ?? '') ? value : undefined;
  } catch {
    return undefined;
  }
}
