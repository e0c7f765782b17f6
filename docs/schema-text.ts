/** The part of JSON Schema that the generated pages read. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

const code = (value: unknown): string => `\`${value}\``;

/** Says in words which values a schema takes, such as "list of texts" or "whole number from 1 to 64". */
export function typeText(schema: Schema): string {
  const { anyOf, oneOf, items, additionalProperties, type } = schema;
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map(typeText))].join(' or ');
  if (schema.$ref) return `[${nameOf(schema.$ref)}](#${nameOf(schema.$ref).toLowerCase()})`;
  if (schema.const !== undefined) return code(schema.const === '' ? "''" : schema.const);
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (Array.isArray(type)) return typesText(schema, type);
  if (type === 'array') return items ? `list of ${plural(typeText(items))}` : 'list';
  if (type === 'object')
    return typeof additionalProperties === 'object'
      ? `table of ${plural(typeText(additionalProperties))}`
      : 'object';
  if (type === 'string') return textType(schema);
  if (type === 'integer' || type === 'number') return numberText(schema);
  return type === 'boolean' ? 'true or false' : type === 'null' ? 'null' : 'any value';
}

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

/** A size is written as a number of bytes or as a text such as `256KB`. */
function typesText(schema: Schema, types: readonly string[]): string {
  const isSize = types.includes('number') && types.includes('string');
  const rest = isSize ? types.filter((it) => it !== 'number' && it !== 'string') : types;
  return [...(isSize ? ['size'] : []), ...rest.map((type) => typeText({ ...schema, type }))].join(' or ');
}

const plurals: Readonly<Record<string, string>> = { text: 'texts', object: 'objects', 'any value': 'values' };

const plural = (text: string): string =>
  plurals[text] ??
  text
    .replace(/^whole number/, 'whole numbers')
    .replace(/^number/, 'numbers')
    .replace(/^text/, 'texts');

function textType({ format, maxLength, default: fallback }: Schema): string {
  if (format === 'uuid') return 'UUID';
  if (format === 'date-time') return 'time';
  if (typeof fallback === 'string' && /^\d+(?:ms|s|m|h|d)$/.test(fallback)) return 'duration';
  return maxLength !== undefined && maxLength < 2048 ? `text of up to ${maxLength}` : 'text';
}

/** The bounds that JavaScript itself sets say nothing. */
function numberText({ type, minimum, exclusiveMinimum, maximum }: Schema): string {
  const isBound = (it: number | undefined): it is number =>
    it !== undefined && Math.abs(it) !== Number.MAX_SAFE_INTEGER;
  const name = type === 'integer' ? 'whole number' : 'number';
  const from = isBound(exclusiveMinimum) ? ` above ${exclusiveMinimum}` : '';
  if (isBound(minimum) && isBound(maximum)) return `${name} from ${minimum} to ${maximum}`;
  if (isBound(minimum)) return `${name}, ${minimum} or more`;
  return `${name}${from}${isBound(maximum) ? `, up to ${maximum}` : ''}`;
}

/** A default as YAML has it on one line; empty where there is none worth a word. */
export function defaultText({ default: value }: Schema): string {
  if (value === undefined || value === '') return '';
  if (typeof value === 'object' && value !== null) {
    const isEmpty = Object.keys(value).length === 0;
    return isEmpty ? (Array.isArray(value) ? '`[]`' : '') : code(JSON.stringify(value));
  }
  return code(value);
}
