/**
 * A part of a template of hosts or paths, which are parsed once, when the catalogue is loaded. `{region}`
 * stands for one label or segment, `{key+}` for one or more. A literal may stand before and after a
 * placeholder (`{model}:embed`).
 */
export type TemplatePart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'one'; readonly name: string; readonly prefix: string; readonly suffix: string }
  | { readonly kind: 'rest'; readonly name: string };

const placeholder = /^([^{}]*)\{([a-z_]+)(\+?)\}([^{}]*)$/;

/** Parses one label or segment of a template; undefined where it is malformed. */
export function parsePart(text: string): TemplatePart | undefined {
  if (!/[{}]/.test(text)) return { kind: 'literal', text };
  const [, prefix = '', name = '', plus, suffix = ''] = placeholder.exec(text) ?? [];
  if (name === '') return undefined;
  if (plus === '') return { kind: 'one', name, prefix, suffix };
  return prefix === '' && suffix === '' ? { kind: 'rest', name } : undefined;
}

/** Tells whether a text fits between prefix and suffix, with at least one character of its own. */
export const fits = (text: string, { prefix, suffix }: { prefix: string; suffix: string }): boolean =>
  text.length > prefix.length + suffix.length && text.startsWith(prefix) && text.endsWith(suffix);
