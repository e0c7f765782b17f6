import { PatternError } from './pattern-syntax.ts';

/*
 * What patterns of several detectors have in common, by the name that they write between double braces: `{{name}} has`. Patterns run on
 * bytes, and from 0x80 on these are letters beyond ASCII in UTF-8: 0xc3 to 0xc5 begin the capitals of Latin-1 and Latin Extended-A.
 */

/** Between the words of a name: an initial, or `van der`, `dos`, `y`. */
const particles = String.raw`(?:[ +](?:[A-Z]\.?|d[a-z]{1,4}|v[ao][mn]|l[aeo]s?|te[nr]|zu[mr]?|bin|al|el?|[iy])){0,2}`;
const twoWords = String.raw`[A-Z\xc3-\xc5][a-z\x80-\xff\x27][A-Za-z\x80-\xff\x27-]{0,22}${particles}[ +][A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}`;

/** Letters beyond ASCII as patterns have them, by their bytes. */
const asBytes = (pattern: string): string => Buffer.from(pattern).toString('latin1');

const cell = String.raw`[^,;\t|\n]{0,64}[,;\t|]`;
const columnsMax = 7;

/** What no head has: rows begin with those, and lists of packages have one behind each name. */
const number = String.raw`\d[\d.:+,;\t|-]`;

/** From the start of a row of a table to the cell under a head that says so; of CSV, TSV and Markdown. */
function cellUnder(head: string): string {
  const ways = Array.from({ length: columnsMax }, (_, before) => {
    const cells = `(?:${cell}){${before}}`;
    const heads = String.raw`(?:^|\n)${cells}[ "]{0,2}(?:[A-Za-z]{1,16}[ _-])?(?:${head})[ "]{0,2}(?:[,;\t|](?!${number})[^\r\n]{0,100})?\r?\n`;
    // What has not so many cells, as prose, does not look back.
    const isRow = `(?=(?:${cell}){${Math.max(1, before)}})`;
    return String.raw`${isRow}(?<=${heads}(?:[^\n\x1e]{0,200}\n){0,16})${cells}`;
  });
  return String.raw`(?<=\n)(?:${ways.join('|')})[ "]{0,2}`;
}

/** What a token may stand for that opens nothing: a place in a list, a lock, an attempt, the address of a device; no two begin alike. */
const states = (
  'page next prev(?:ious)? start(?:ing)? continuation pagination cursor offset skip scroll search sync delta change snapshot resume stream watch ' +
  'lock lease fencing consistency concurrency request retry operation transaction idempotency correlation [^a-z]trace [^a-z]task wait_?for ' +
  'cancel(?:lation)? expiration contract public[_-]?key [cx]srf verification push device fcm apns? [^a-z]state [^a-z]version [^a-z]view'
).split(' ');
/** The same, where keys in environment variables are called so in two words (`BUILD_TOKEN`). */
const statesInOneWord = ['[^a-z]client', '[^a-z]build', 'design', 'antiforgery'];

/** Before a field of the query of a badge, which is public with the page that shows it. */
const badge = String.raw`\.svg(?:\?[\w.=&-]{0,64})?`;

const parts: Readonly<Record<string, string>> = {
  /** The noun in the languages in which people pass on passwords; no option is the beginning of another. */
  password: asBytes(
    'pass(?:wor[dt]|wd|w0rd|phrase|code|ordet| word| phrase)?|pwd?|kennwort|contraseña|contrasena|senha|palavra-passe|mot de passe|mdp|wachtwoord|haslo|hasło|hasla|' +
      'hasła|losenord(?:et)?|lösenord(?:et)?|adgangskoden?|salasana|parola|sifre|şifre|heslo|jelszo|jelszó|Парол..|парол..|口令|密码|密碼|パスワード|비밀번호',
  ),
  /** "… for the router", behind the noun. */
  'of-what': asBytes(
    '(?: (?:for |of |to |on |in |at |from |für |fur |de |di |du |do |da |des |der |vom |zum |zur |pour |para |del |dos |das |della |dello |per |voor |van |' +
      'dla |od |от |для |till |för |på )[^\\n:=]{1,40}?)?',
  ),
  /** Between a noun and its value in a sentence. */
  'said-is': asBytes(
    '(?: (?:is |is:|was |lautet |lautet:|ist |ist:|est |est:|es |es:|è |è:|é |é:|är |är:|er |jest |now |set to |changed to |reset to )|' +
      " ?[:=](?!-)(?: it(?:'|’)s)?|：|是|为|為|は)",
  ),
  /**
   * Where no `token` begins that stands for a state: no right is behind it. One of a session or a client does where it is a bare UUID, for
   * searches are billed and calls repeated by such, and that of a badge is read by all who read the README that shows it. How many there are, as
   * each call to a language model says it, and whether it is a token at all, is told first: what may stand before takes long to look for.
   */
  'token-of-state':
    String.raw`(?!tokens\\?"?: ?\d{1,11}[,}\s])` +
    `(?!(?=token)(?<=\\.svg\\?[\\w.=&-]{0,64})token)` +
    `(?!(?=token)(?<=${states.map((state) => `${state}[_-]?`).join('|')}|${statesInOneWord.join('|')})token)` +
    String.raw`(?!(?=token)(?<=(?:session|client)[_-]?)token["'\\=: ]{1,6}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-]))`,
  badge,
  /** Before the query of a document of Google, of which `key` is the id. */
  document: String.raw`docs\.google\.com/[\w/]{1,64}`,
  /** The head of the column is a cell of its own: `password`, `admin_password`, `API key`. */
  'under-password': cellUnder(
    'password|passwd|passwort|passphrase|pwd|kennwort|wachtwoord|senha|mot de passe',
  ),
  'under-key': cellUnder('api[ _-]?key|secret(?:[_-]key)?|access[ _-]key|token'),
  /** Two words written large, initials and particles between them. */
  name: twoWords,
  /** The same, and perhaps a second family name. */
  'full-name': String.raw`${twoWords}(?:[ +][A-Z\xc3-\xc5][a-z\x80-\xff\x27-]{1,24})?`,
  /** Two words in a field, where it may be all capitals, or the family name first: `KELLER, MARIA`, `KELLER^MARIA`. */
  'field-name': String.raw`[A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}${particles}(?:[ ^+_]|, ?)[A-Z\xc3-\xc5][A-Za-z\x80-\xff\x27-]{1,24}`,
  /** Where a word begins; the letter of an escaped line feed belongs to none. */
  start: String.raw`(?:(?<=\\[nrt])|(?<![0-9A-Za-z\x80-\xff]))`,
  /** Behind a label that says that a number follows: `no.`, `n.º`, `#`, `_id`. */
  number: String.raw`(?:[ _.-]?(?:n(?:umber|um|[or]|\.?\xc2[\xba\xb0])|id(?:entifier)?|#)\.?)?`,
  /** Options of a group: a sign between two lines, escaped once, twice or not at all, or between the items of a list of lines. */
  break: String.raw`[\s"\x27,]|\\[nrt"]|\\\\[nrt"]`,
  /** Options of a group: a sign of base64, which may go over lines, and stays within a string of JSON. */
  'key-text': String.raw`[0-9A-Za-z+/=\s]|\\[nrt/]|\\\\[nrt/]`,
  /** Between a label and its value, in prose, assignments and JSON. */
  is: String.raw`["\x27\\]{0,3}[ \t:=#>,-]{1,4}["\x27\\]{0,3}`,
};

/** Writes the parts out. Throws PatternError for one that there is not. */
export function expandParts(pattern: string): string {
  return pattern.replace(/\{\{([a-z-]{1,32})\}\}/g, (_, name: string) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (part === undefined) throw new PatternError(`there is no part {{${name}}}`);
    return part;
  });
}
