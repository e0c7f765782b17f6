import { PatternError } from './pattern-syntax.ts';

/*
 * Holds the parts that patterns of several detectors share, written by name between double braces: `{{name}}
 * has`. Patterns run on bytes. Bytes from 0x80 on are letters beyond ASCII in UTF-8; 0xc3 to 0xc5 begin the
 * capitals of Latin-1 and Latin Extended-A.
 */

/** Matches what stands between the words of a name: an initial, or `van der`, `dos`, `y`. */
const particles = String.raw`(?:[ +](?:[A-Z]\.?|d[a-z]{1,4}|v[ao][mn]|l[aeo]s?|te[nr]|zu[mr]?|bin|al|el?|[iy])){0,2}`;
const twoWords = String.raw`[A-Z\xc3-\xc5][a-z\x80-\xff\x27][A-Za-z\x80-\xff\x27-]{0,22}${particles}[ +][A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}`;

/** Returns a pattern with letters beyond ASCII written as their bytes, as patterns need them. */
const asBytes = (pattern: string): string => Buffer.from(pattern).toString('latin1');

const cell = String.raw`[^,;\t|\n]{0,64}[,;\t|]`;
const columnsMax = 7;

/**
 * Matches a number, which no head of a table contains. Rows begin with numbers, and lists of packages have
 * one behind each name.
 */
const number = String.raw`\d[\d.:+,;\t|-]`;

/**
 * Returns a pattern that matches from the start of a row of CSV, TSV or Markdown to the cell under a given
 * head. `value` is what the cell begins with.
 */
function cellUnder(head: string, value: string): string {
  const ways = Array.from({ length: columnsMax }, (_, before) => {
    const cells = `(?:${cell}){${before}}`;
    const heads = String.raw`(?:^|\n)${cells}[ "]{0,2}(?:[A-Za-z]{1,16}[ _-])?(?:${head})[ "]{0,2}(?:[,;\t|](?!${number})[^\r\n]{0,100})?\r?\n`;
    // A text without so many cells, such as prose, or with another value there, needs no lookbehind.
    const isRow = `(?=(?:${cell}){${Math.max(1, before)}})(?=${cells}[ "]{0,2}${value})`;
    return String.raw`${isRow}(?<=${heads}(?:[^\n\x1e]{0,200}\n){0,16})${cells}`;
  });
  return String.raw`(?<=\n)(?:${ways.join('|')})[ "]{0,2}`;
}

/**
 * Words before `token` for things that give no access, such as a place in a list, a lock, an attempt or a
 * device's address. No two begin alike.
 */
const states = (
  'page next prev(?:ious)? start(?:ing)? continuation pagination cursor offset skip scroll search sync delta change snapshot resume stream watch ' +
  'authenticity lock lease fencing consistency concurrency request retry operation transaction idempotency correlation [^a-z]trace [^a-z]task wait_?for ' +
  'cancel(?:lation)? expiration contract public[_-]?key [cx]srf verification push device fcm apns? forward backward creation [^a-z]state [^a-z]version [^a-z]view'
).split(' ');
/**
 * Further such words, which names of environment variables for keys have as words of their own
 * (`BUILD_TOKEN`). They count only where `token` follows in the same word.
 */
const statesInOneWord = ['[^a-z]client', '[^a-z]build', 'design', 'antiforgery'];

/** Matches the query of a badge up to a field; a badge is as public as its page. */
const badge = String.raw`(?:\.svg|img\.shields\.io/[\w./-]{0,96})(?:\?[\w.=&-]{0,64})?`;

/**
 * Matches the noun in the languages in which people pass on passwords. No option is the beginning of another.
 */
const password = asBytes(
  'pass(?:wor[dt]|wrd|wd|w0rd|phrase|code|ordet| word| phrase)?|pwd?|pswd?|kennwort|contraseña|contrasena|senha|palavra-passe|mot de passe|mdp|wachtwoord|haslo|hasło|hasla|' +
    "hasła|losenord(?:et)?|lösenord(?:et)?|adgangskoden?|salasana|parola|sifre|şifre|heslo|jelszo|jelszó|Парол..|парол..|口令|密码|密碼|パスワード|비밀번호|비번|패스워드|code d'acc(?:e|è)s|clave(?= d)",
);

/**
 * Matches where a quote in a value does not close it. A closing quote has a sign, the end of a tag, a comment
 * or another quote behind it.
 */
const insideQuote = String.raw`(?=[^\s,;:)\]}>=+?&|!.\\"\x27\x60])(?!/[>*/])(?!%>)`;
/**
 * Matches an apostrophe or a backtick in a value. It stands neither at the value's end nor between entries of
 * a list.
 */
const innerTick = String.raw`[\x27\x60](?=\S)(?!,[\x27\x60])(?![\])}][,;\])}])(?![,;.:\])}](?!\S))(?!>)(?!/>)(?!"(?![^\s,:)\]}]))`;

const parts: Readonly<Record<string, string>> = {
  password,
  /** Matches from the name of a password or secret to the value. */
  'named-password':
    String.raw`(?<!\w::\w{2,24}::[A-Za-z]{0,40}|[^a-z]hashed_)(?:(?<![\w.-])token|(?:${password}|secret)[\w.\[-]{0,24})(?![\w.\[-])` +
    '(?<!id|name|arn|ref|ur[li]|path|file|type|hash|length|policy|expiry|expires|created|status|label|_at|_in|reset|hint|field|digest|algorithm|used|changed|version|message|error|title|text)' +
    String.raw`["\x27\x60\\\])]{0,4}[ \t]{0,32}(?:=>|[?.+|:]{0,3}=|:)[ \t]{0,32}[bfru]?`,
  /**
   * Matches what stands between a name and its value on one line: PHP's `.=`, make's `:::=`, Go's type before
   * `=`, the end of a tag.
   */
  assigns: String.raw`(?:string ?=|[?.+|]{1,2}=|=>?|:(?::{0,2}=|(?!:\w))|>|<-|-(?= ["\x27])|is[ \t]|value ?=|\{[\s\\n]{1,12}default {0,8}=)[ \t]{0,6}`,
  'inside-quote': insideQuote,
  /**
   * Matches a value without quotes around it, up to white space. A quote may stand in it where no closing
   * quote would, and a backslash that begins no escape.
   */
  'bare-value': String.raw`[^\s"\x27\x60&\\](?:[^\s"\x27\x60\\]|${innerTick}|\\(?![nrt"])|"${insideQuote}){9,127}`,
  'inner-tick': innerTick,
  /** Matches "… for the router" behind the noun. */
  'of-what': asBytes(
    '(?: (?:for |of |to |on |in |at |from |für |fur |de |di |du |do |da |des |der |vom |zum |zur |pour |para |del |dos |das |della |dello |per |voor |van |' +
      'dla |od |k |ke |от |для |till |til |för |på )(?:[^\\n:=<]|<(?!a )){1,40}?)?',
  ),
  /** Matches what stands between a noun and its value in a sentence. */
  'said-is': asBytes(
    '(?: (?:is |is:|was |lautet |lautet:|ist |ist:|est |est:|es |es:|è |è:|é |é:|är |är:|er |jest |je |now |set to |changed to |reset to )|' +
      " ?[:=](?!-)(?: it(?:'|’)s)?|：|是|为|為|は)",
  ),
  /**
   * Matches where no `token` begins that stands for a state and so gives no access. A session's or client's
   * token that is a bare UUID stands for one, since it only identifies searches or calls. A badge's token is
   * read by all who read its README, and that of a file in Firebase Storage by all who see the page.
   *
   * Counts of tokens and wrong words are ruled out first, since the lookbehinds take long.
   */
  'token-of-state':
    String.raw`(?!tokens\\?"?: ?\d{1,11}[,}\s])` +
    String.raw`(?!(?=token)(?<=(?:\.svg|img\.shields\.io/[\w./-]{0,96})\?[\w.=&-]{0,64})token)` +
    `(?!(?=token)(?<=${states.map((state) => `${state}[_-]?`).join('|')}|${statesInOneWord.join('|')})token)` +
    String.raw`(?!(?=token)(?<=\?alt=media&)token=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-]))` +
    String.raw`(?!(?=token)(?<=(?:session|client)[_-]?)token["'\\=: ]{1,6}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-]))`,
  badge,
  /** Matches a Google document before the query, whose `key` is its id. */
  document: String.raw`docs\.google\.com/[\w/]{1,64}`,
  /**
   * Matches up to the cell under the head of a column of passwords. The head is a cell of its own, such as
   * `password` or `admin_password`; `under-key` matches the same for keys, such as `API key`.
   */
  'under-password': cellUnder(
    'password|passwd|passwort|passphrase|pwd|kennwort|wachtwoord|senha|mot de passe',
    String.raw`[^\s,;|"]{6}`,
  ),
  'under-key': cellUnder('api[ _-]?key|secret(?:[_-]key)?|access[ _-]key|token', '[0-9A-Za-z_~+/=.:-]{16}'),
  /** Matches two capitalised words, with initials and particles between them. */
  name: twoWords,
  /** Matches such words with an optional second family name. */
  'full-name': String.raw`${twoWords}(?:[ +][A-Z\xc3-\xc5][a-z\x80-\xff\x27-]{1,24})?`,
  /**
   * Matches two words in a field, perhaps all in capitals or with the family name first: `KELLER, MARIA`,
   * `KELLER^MARIA`.
   */
  'field-name': String.raw`[A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}${particles}(?:[ ^+_]|, ?)[A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}`,
  /** Matches the start of a word. The letter of an escaped line feed belongs to no word. */
  start: String.raw`(?:(?<=\\[nrt])|(?<![0-9A-Za-z\x80-\xff]))`,
  /** Matches the rest of a label that announces a number: `no.`, `n.º`, `#`, `_id`. */
  number: String.raw`(?:[ _.-]?(?:n(?:umber|um|[or]|\.?\xc2[\xba\xb0])|id(?:entifier)?|#)\.?)?`,
  /**
   * Options of a group that match a break between lines. It may be escaped once, twice or not at all, or
   * stand between list items that are lines.
   */
  break: String.raw`[\s"\x27,]|\\[nrt"]|\\\\[nrt"]`,
  /**
   * Options of a group that match a base64 character. The text may go on over lines but stays in a JSON
   * string.
   */
  'key-text': String.raw`[0-9A-Za-z+/=\s]|\\[nrt/]|\\\\[nrt/]`,
  /** Matches twelve words or more in one case, with signs, numbers or white space between them. */
  'short-words': ['[a-z]{3,8}', '[A-Z]{3,8}', '[A-Z][a-z]{2,7}']
    .map((word) => String.raw`${word}(?:[\s\d,;:.)(_|/+"*\x27\x60\\\x80-\xff-]{1,16}${word}){11,31}`)
    .join('|'),
  /** Matches what stands between a label and its value, in prose, assignments and JSON. */
  is: String.raw`["\x27\\]{0,3}[ \t:=#>,-]{1,4}["\x27\\]{0,3}`,
};

/** Replaces the names of parts in a pattern with the parts. Throws PatternError for an unknown part. */
export function expandParts(pattern: string): string {
  return pattern.replace(/\{\{([a-z-]{1,32})\}\}/g, (_, name: string) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (part === undefined) throw new PatternError(`there is no part {{${name}}}`);
    return part;
  });
}
