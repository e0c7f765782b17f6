/** One root field of a GraphQL document; `kind` is that of its operation. */
export interface RootField {
  readonly kind: 'query' | 'mutation' | 'subscription';
  /** The field itself, not its alias. */
  readonly name: string;
}

const documentLengthMax = 65_536;
const rootFieldsMax = 100;

/** Tokens of GraphQL (October 2021, 2.1) but for block strings; sticky, so that the text is read once from left to right. */
const token =
  /[\s,\uFEFF]+|#[^\n\r]*|"(?:[^"\\\n\r]|\\.)*"|\.\.\.|[A-Za-z_]\w*|-?\d[\w.+-]*|[!$&()/:=@[\]{|}]/y;
const ignored = /^[\s,#\uFEFF]/;
const isName = /^[A-Za-z_]/;

/**
 * The root fields of all operations in a document, or undefined where it is malformed, spreads a fragment at its root, or is
 * longer than 64 KB or 100 fields: then nobody can say what it does without the schema.
 */
export function rootFieldsOf(document: string): readonly RootField[] | undefined {
  const tokens = tokensOf(document);
  if (!tokens) return undefined;
  const fields: RootField[] = [];
  let kind: RootField['kind'] | 'fragment' | undefined;
  let depth = 0;
  let brackets = 0;
  for (let i = 0; i < tokens.length; i++) {
    const text = tokens[i] ?? '';
    if (text === '(' || text === '[') brackets++;
    else if (text === ')' || text === ']') brackets--;
    else if (brackets > 0) continue;
    else if (text === '{') {
      // A document may be a selection alone: a query (2.3, query shorthand).
      if (depth++ === 0) kind ??= 'query';
    } else if (text === '}') {
      if (--depth === 0) kind = undefined;
    } else if (depth === 0) {
      kind ??= kindOf(text);
      if (!kind) return undefined;
    } else if (depth === 1 && kind && kind !== 'fragment') {
      if (text === '...') return undefined;
      if (text === '@') i++;
      else if (isName.test(text) && tokens[i + 1] !== ':') fields.push({ kind, name: text });
    }
    if (depth < 0 || brackets < 0 || fields.length > rootFieldsMax) return undefined;
  }
  return depth === 0 && brackets === 0 && fields.length > 0 ? fields : undefined;
}

const kindOf = (text: string): RootField['kind'] | 'fragment' | undefined =>
  text === 'query' || text === 'mutation' || text === 'subscription' || text === 'fragment'
    ? text
    : undefined;

/** Undefined where something stands in the text that is no token. */
function tokensOf(text: string): readonly string[] | undefined {
  if (text.length > documentLengthMax) return undefined;
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('"""', at)) {
      const end = endOfBlockString(text, at + 3);
      if (end === undefined) return undefined;
      at = end;
      continue;
    }
    token.lastIndex = at;
    const match = token.exec(text)?.[0];
    if (match === undefined) return undefined;
    if (!ignored.test(match)) tokens.push(match);
    at += match.length;
  }
  return tokens;
}

/** Behind the closing `"""`; one with a backslash before it does not close (2.9.4). */
function endOfBlockString(text: string, from: number): number | undefined {
  for (let at = text.indexOf('"""', from); at >= 0; at = text.indexOf('"""', at + 3)) {
    if (text[at - 1] !== '\\') return at + 3;
  }
  return undefined;
}
