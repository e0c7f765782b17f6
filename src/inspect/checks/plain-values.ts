import { randomBits } from './letter-pairs.ts';

/*
 * Recognises values that are no secret whatever the name before them says: `passwordChangedAt: 2026-03-04`,
 * `PWD=/srv/build/4711`, `token_address: 0x52…`. Names are many and kinds of such values few, so the values
 * are told apart, not the names.
 */

/** Matches placeholders in a format string: `%s`, `%(user)s`, `%1$d`. */
const directives = /%(?:\(\w{1,32}\)|\d\$)?[-+#0]{0,2}\d{0,3}(?:\.\d{1,3})?[a-zA-Z]/g;
const isFormat = (value: string): boolean =>
  value.includes('%') && !/[\d!@#$%^*+~?]/.test(value.replace(directives, ''));

/**
 * Words with a number behind them that occur in names of code: `Uint8Array`, `XOAuth2Options`,
 * `utf8_to_utf16_dup`.
 */
const numberedWords =
  'int uint float utf ucs iso base sha md aes rsa crc http oauth ipv win arch arm str arg argon'.split(' ');
const capitalised = numberedWords.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
const numberedTerms = new RegExp(
  `(?:(?<![A-Za-z])(?:${numberedWords.join('|')}|${numberedWords.join('|').toUpperCase()}|[xX]509|[iI]18n|[lL]10n|[kK]8s)` +
    `|(?<![A-Z])(?:${capitalised.join('|')}|UInt|X?OAuth|IPv))_?\\d{0,5}(?<=\\d[a-z]?)(?![0-9a-z])|(?<=[a-z]{2})2(?=(?:utf|hex|bin|str|int|md5|xml|json)[A-Z\\d]?)|[Bb](?:ase)?64(?=(?:de|en)code)|(?<=[Ww]ord|[Ll]og|[Ss]lf|[Nn]eo)4[jJ](?=[A-Z.]|$)`,
  'g',
);
const identifier = /^[_$]{0,2}[A-Za-z][A-Za-z_$]*$/;
const compound = /[a-z][A-Z]|[A-Za-z]_+[A-Za-z]/;

/** Matches a member of a class, without its numbers: `DigestUtils.encodeAsHex`. */
const classMember = /^[A-Z][A-Za-z_]{2,60}(?:\.[a-z][A-Za-z_]{2,60}){1,2}$/;

/** Writes terms of code without their numbers: `c.OAuth2.Connector` becomes `c.Term_.Connector`. */
export const withoutNumbers = (value: string): string => value.replace(numberedTerms, 'Term_');

/**
 * Tells whether a text is a name of two words or more. It may have numbers only where terms of code have
 * them.
 */
export const isIdentifier = (value: string): boolean => {
  const letters = withoutNumbers(value);
  return (identifier.test(letters) || classMember.test(letters)) && compound.test(letters);
};

const tokenHead = /^eyJ[\w-]{10,1024}={0,2}\.?$/;

/**
 * Tells whether a text is only the head of a JSON web token (RFC 7515, 4.1). It says how the token is signed
 * and gives no access.
 */
const isTokenHead = (value: string): boolean =>
  tokenHead.test(value) && /^\{[^{}]*"alg"\s?:/.test(Buffer.from(value, 'base64url').toString('latin1'));

/** Returns a pattern that matches where one of these does. */
function either(patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source, flags }) => `(?${flags}:${source})`).join('|'));
}

/** Matches one of the kinds. One pattern is faster than many. */
const kinds = either([
  /** Matches dates and times (RFC 3339), or a part of one, and times in the basic format of ISO 8601. */
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d(?::?\d\d.*)?)?$|^\d{8}T\d{6}Z$/,
  /**
   * Matches a path from a root, a home or here. One of its folders has a name in small letters, which base64
   * does not have between two slashes.
   */
  /^(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^/\\]{0,64}[/\\]){0,16}\.?[a-z][a-z_.-]{1,32}(?:[/\\]|$)/,
  /**
   * Matches encrypted values: SOPS and hiera-eyaml, Jasypt, Spring Cloud, Ansible, Vault's transit, dotenvx,
   * keys of AWS KMS, Jenkins. A Kubernetes SealedSecret begins with the length of an RSA block.
   */
  /^(?:ENC[[(]|\{cipher\}|\$ANSIBLE_VAULT|vault:v\d|encrypted:|\{AQAAA|AQICAH|Ag[A-D][0-9A-Za-z+/]{50})/,
  /** Matches a YAML tag that says how to obtain or to read the value: `!vault`, `!Ref`, `!unsafe`. */
  /^!(?:vault|secret|env|env_var|unsafe|Ref|Sub|GetAtt|ImportValue|FindInMap|reference)$/,
  /** Matches `%DB_PASSWORD%` in a form, where `%DB` was decoded as a byte. */
  /^[\x80-\xff][A-Z_]{2,64}%$/,
  /** Matches an account or a contract of Ethereum. */
  /^0x[0-9A-Fa-f]{40}$/,
  /**
   * Matches algorithms and counts that sentences about secrets name: `sha256-hashed`, `base64`, `12-character`,
   * `90days`.
   */
  /^(?:(?:scram-)?sha-?\d{1,3}|md5|base(?:32|58|64)|bcrypt|argon2(?:id?|d)?|pbkdf2(?::sha-?\d{1,3})?|pkcs-?\d{1,2}|utf-?8|oauth2?|ed25519|x509|x86[_-]64|i[3-6]86|aarch64|[a-z]{2}\d{3}|\d{1,4}(?:-?(?:char(?:acter)?|day|bit|byte|hour|minute|digit|month|year|letter)s?)?)(?:-[a-z]{2,24}){0,3}$/i,
  /** Matches several algorithms in one: `PBKDF2-HMAC-SHA256`, `SHA-512/SHA-256/MD5`. */
  /^(?:(?:PBKDF2|HMAC|SHA-?\d{1,3}|MD5|AES-?\d{0,3}|bcrypt|scrypt|argon2i?d?)(?:[-/_+]|$)){2,8}$/i,
  /** Matches a shell's message for a missing variable: `${DB_PASSWORD:?required}`. */
  /^\?[A-Za-z_]{1,64}$/,
  /**
   * Matches the scope of an AWS signature: the id of a key (which has its own detector), a day, a region and a
   * service.
   */
  /^A[KS]IA[A-Z2-7]{16}(?:\/|%2F)\d{8}(?:\/|%2F)/,
  /** Matches a rule for values: `^[A-Za-z0-9]{8,64}$`. It has ranges, and no literal characters. */
  /^(?=.*(?:A-Z|a-z|0-9|\\[dws]))\^?(?:(?:\[[^\]]{1,80}\]|\\[dws]|\.|\(\?[=!][^()]{0,80}\))(?:[+*?]|\{\d{1,4},?\d{0,4}\})?){1,16}\$?$/,
  /**
   * Matches quotes, brackets, fonts and sizes of a manual in roff: `PASSWORD \*(Aqjw8s0F4\*(Aq`,
   * `\[lB]password\[rB]`, `\fIgzip\fP(1)`, `\s-1URL\s0`. The first backslash may be taken off before.
   */
  /^(?:\\?\*)?\((?:Aq|[lr]q|dq)|^\\?\[[A-Za-z]{1,8}\]|^\\?f\((?:C[BIRW]|B[I])|^\\f[BCIPR]|^\\?s[-+]\d[A-Z]/,
  /** Matches a manual by name and section: `readpassphrase.3bsd`. */
  /^[a-z][a-z_-]{1,40}\.[1-9](?:[a-z]{2,5})?$/,
  /** Matches a shortened IPv6 address: `::1a:2b`. */
  /^(?:(?:[\da-f]{1,4}:){0,7}|:):(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,6})?(?:\/\d{1,3})?$/i,
  /** Matches a digest in pairs of hexadecimal digits (MD5, SHA-1, SHA-256), or such a line of a number. */
  /^(?:[\da-f]{2}:){14,31}(?:[\da-f]{2})?$/i,
  /** Matches a directive of the C preprocessor. */
  /^#(?:define|undef|include|ifn?def|if|elif|else|endif|error|pragma)$/,
  /** Matches the name of a resource of Google Cloud, such as a stored secret (https://google.aip.dev/122). */
  /^projects\/[\w.:${}-]{1,64}\/(?:[a-z][A-Za-z]{2,32}\/[\w.${}-]{1,128}\/?){1,5}$/,
  /** Matches the version that Go gives a commit (https://go.dev/ref/mod#pseudo-versions). */
  /^v\d{1,4}\.\d{1,4}\.\d{1,6}-(?:[\w.]{1,40}\.)?\d{14}-[\da-f]{12}(?:\+incompatible)?:?$/,
  /** Matches a negated variable, a concatenation or a path with a variable in Perl or PHP: `!$pass`. */
  /^!{1,2}\$[A-Za-z_]{1,40}$|^\/\$\{?[A-Za-z_]{1,40}\}?(?:[/.]|$)|^(?:\.|(?:[\w.-]{1,64}\/){1,8})\$\{?[A-Za-z_]/,
  /**
   * Matches a coder by the names that it is called with: `Base64.getEncoder.encodeToString`, `b64.StdEncoding`. Any other words
   * could be a secret of letters.
   */
  /^b(?:ase)?(?:32|58|64)(?:\.(?:get|to|from|url|std|mime|raw|string|bytes|text|without|with|padding|encod(?:er?|ing)|decod(?:er?|ing))+){1,3}$/i,
  /** Matches a number in a list of Rust, an element, and a number of bits: `[2u8`, `buffer[2`, `random_32b`. */
  /^[a-z]{0,10}\[\d{1,3}(?:[ui]\d{1,2})?$|^[a-z]{2,10}_\d{1,3}b(?:its?|ytes?)?$/,
  /** Matches a pointer in Go or C, a macro of Rust, a rule of a grammar: `*password`, `vec![]`, `1*SAFE`. */
  /^\*[a-z]{0,8}(?:[Pp]ass(?:word|wd|phrase)?|[Ss]ecret|[Tt]oken|[Kk]ey)$|^[a-z][a-z_]{1,10}!\[(?:\W{0,2}|0x[\dA-Fa-f]{2})$|^\d?\*\d?[A-Z]{2,8}$/,
  /** Matches a key of AWS by its resource name, which opens nothing by itself. */
  /^arn:aws[a-z-]{0,8}:kms:[a-z0-9-]{4,24}:\d{12}:key\/(?:mrk-)?[\da-f]{8}-?(?:[\da-f]{4}-?){3}[\da-f]{12}$/,
  /** Matches a member of an element in C, and one that may be missing: `arg[0].len`, `options?.password`. */
  /^[a-z_]\w{0,24}(?:\[(?:\d{0,3}|[a-z])\](?:\.|->)|\?\.)[a-z_][A-Za-z_]{0,24}(?:\??\.[a-z_][A-Za-z_]{0,24}){0,2}$/,
  /** Matches an annotation of Java, and a short number of C: `@BeforeEach`, `0x52e`. */
  /^@(?:(?:Before|After)(?:Each|All|Class)?|utf8InCpp|Test|Override|Autowired|Inject|Bean|Mock|Nullable|NotNull|NonNull|Value|Column)$|^0x[\dA-Fa-f]{1,5}$|^0x[\dA-Fa-f]{1,8}[uUlL]{1,3}$/,
  /** Matches a commit by its address, as changelogs have it. */
  /^(?:[\w.-]{1,40}\/){0,3}commits?\/(?:[\da-f]{7,10}|[\da-f]{40})$/,
  /** Matches an account of this machine, and a test of pytest: `admin@localhost`, `tests/x.py::Test::test_y`. */
  /^[a-z][a-z.+_-]{1,31}@localhost$|^(?:[\w.-]{1,64}\/){0,12}[\w.-]{1,64}\.py::[A-Za-z_]\w{0,120}(?:::|\[|$)/,
  /** Matches a file whose name has its digest, as bundlers write it: `auth/reset-password.3f57449cd3fda817759d.js.map`. */
  /^(?:[\w.-]{1,64}\/){0,8}[\w-]{1,64}\.[\da-f]{8,32}(?:\.chunk)?\.(?:m?js|css)(?:\.map)?$/,
  /** Matches a field of a type of TL that may be missing: `flags.3?true`. */
  /^flags\d?\.\d{1,2}\?[A-Za-z#]{1,40}(?:<\w{1,40}>)?$/,
  /** Matches a model by its owner, its name and its size: `Qwen/Qwen3-235B-A22B`. */
  /^[\w-]{2,40}\/[A-Za-z][\w.]{1,40}(?:-[A-Za-z\d.]{1,12}){0,6}-\d{1,4}(?:\.\d)?[bB](?:-[A-Za-z\d.]{1,12}){0,6}$/,
  /** Matches a model of Amazon Bedrock: `anthropic.claude-3-haiku-20240307-v1:0`. */
  /^(?:[a-z]{2,4}\.)?[a-z\d]{2,12}\.[a-z][a-z\d-]{2,48}-v\d{1,2}:\d{1,3}k?$/,
  /** Matches a file of words, perhaps with a short number: `my-project-45e35d85a593.json`. */
  /^(?:[a-z]{2,12}[-_]){1,6}(?:[a-z]{2,12}|[\da-f]{1,12})\.(?:json|ya?ml|pem|crt)$/,
  /** Matches a version that is called final: `1.6.2.RELEASE`. */
  /^v?\d{1,3}(?:\.\d{1,4}){1,3}[.-](?:RELEASE|SNAPSHOT|Final|GA)$/,
  /** Matches a time in Ruby: `5.days`. */
  /^\d{1,4}\.(?:second|minute|hour|day|week|month|year)s?$/,
  /** Matches a sum of variables, or a negated one with a member behind it: `pwd+salt`, `!authstatus->done`. */
  /^(?=[a-z_+]{0,64}(?:pass|pwd|salt|key|index|name|user))[a-z_]{1,24}(?:\+[a-z_]{1,24}){1,3}$|^![a-z_]{3,40}-$/,
  /** Matches a member of an element, whatever case it has, and a type of Go: `fields[0].Name`, `*v1.Secret`. */
  /^[a-z_][A-Za-z_]{0,40}(?:\.[A-Za-z_]{1,40}){0,3}\[\d{0,3}\](?:(?:\.|->)[A-Za-z_]{1,40}(?:\[\d{0,3}\])?){0,3}\.?(?<=[.A-Za-z_])$|^[a-z_][A-Za-z_]{0,40}(?:\.[A-Za-z_]{1,40}){1,3}\[\d{0,3}\]$|^(?:\[\]|[*&]){1,3}[a-z][a-z\d]{1,24}\.[A-Z][A-Za-z]{1,40}$|^[A-Z][A-Za-z]{2,24}\[[A-Za-z_]{1,24}\]$/,
  /** Matches a stressed word of Markdown: `**highly**`, `*present*.`. */
  /^\*{1,2}[A-Za-z]{2,24}[.,;:!]?\*{0,2}[.,;:!]?$/,
  /** Matches a kind of files, a file in a folder, and an option: `*.pkpass`, `gdb/x-64.exp:`, `--with-x=`. */
  /^\*\.[a-z\d]{1,10}$|^(?:[\w.+-]{1,64}\/){1,6}[\w.+-]{1,64}\.(?:exp|cc?|cpp|h|py|go|rs|[jt]sx?|rb|java|sh|json|ya?ml|toml|md|txt|xml|html?):?$|^--[a-z]{2,24}(?:-[a-z]{2,24}){0,4}(?:=|$)/,
  /** Matches algorithms of JSON web tokens (RFC 7518) and TLS: `ECDH-ES+A128KW`, `ECDHE-RSA-AES128-SHA256`. */
  /^(?:A(?:128|192|256)(?:CBC-HS(?:256|384|512)|GCM(?:KW)?|KW)|ECDH-ES(?:\+A(?:128|192|256)KW)?|RSA-OAEP-(?:256|384|512)|PBES2-HS\d{3}\+A\d{3}KW)$|^(?:TLS_)?(?:(?:ECDHE?|DHE|RSA|ECDSA|PSK|AES\d{0,3}|CHACHA20|POLY1305|GCM|CBC|CCM8?|SHA\d{0,3}|WITH|3?DES|EDE3?|CAMELLIA\d{0,3}|ARIA\d{0,3}|128|256)(?:[-_+]|$)){3,12}$/,
  /** Matches what tools that try passwords put one for, and a query: `^PASS^`, `COMBO00:COMBO01`, `?id=1`. */
  /^\^[A-Z]{3,8}\^$|^(?:COMBO|FILE)\d\d(?::(?:COMBO|FILE)\d\d)?$|^\?[a-z]{1,12}=\d{1,6}\/\*/,
  /** Matches a link of Markdown whose last word stands before it: `Security](#v62-password)`. */
  /^[A-Za-z]{1,32}\]\(#(?:[a-z\d]{1,16}-){1,12}[a-z]{1,24}\)?$/,
  /** Matches the name of the next variable of a list without values: `encrypted_0d22c88004c9_key=`. */
  /^[A-Za-z]{2,24}(?:_[A-Za-z\d]{1,16}){0,6}_(?:key|iv|id|url|user|username|password|secret|token|name|host)=$/i,
  /** Matches a rule of LDAP by its number, and a type of Python: `2.5.13.18:=`, `Union[None,`. */
  /^\d(?:\.\d{1,6}){3,10}(?::=.{0,4})?$|^(?:Union|Optional|List|Dict|Literal|Annotated)\[[A-Za-z]{0,24},?$/,
  /** Matches words with letters beyond ASCII in escapes, as translations in JSON have: `\u5bc6\u94a5`. */
  /^[A-Za-z.,:!?]{0,40}\\{1,4}u(?!00[2-7])[\da-fA-F]{4}(?:\\{1,4}u[\da-fA-F]{4}|[A-Za-z.,:!?]){0,200}$/,
  /** Matches the subject of a mail whose words are encoded (RFC 2047). */
  /^Subject:? ?=\?[\w-]{3,16}\?[BQbq]\?/,
]);

/** Matches words in one of these forms. */
const wordings = either([
  /** Matches a scoped name of C++, Perl, Ruby or Rust, perhaps called: `Win32::GetCwd`, `Digest::MD5.hexdigest`. */
  /^[A-Za-z_]\w{0,40}(?:::[A-Za-z_]\w{0,40}){1,8}(?:\.[a-z_]\w{0,40}){0,3}(?:\(@[a-z_]{1,40}(?:\[:[a-z_]{1,40}\]?)?\)?)?$/,
  /** Matches a VMS device with its folder, a symbol, or a class: `:RF10:[UTIL]`, `:key:`, `:TkSymbol2Token`. */
  /^:[A-Za-z][\w+-]{1,24}:(?:\[[A-Z.]{1,40}\])?$|^:(?:[A-Z][a-z]{1,16}\d?){2,5}$/,
  /** Matches a variable of Ruby or SQL, its members and elements: `@user.password`, `@Password`, `@options[:pwd]`. */
  /^@{1,2}(?=[a-z_.[:]{0,40}(?:pass|secret|token|key|user|pwd))[a-z_]{2,40}(?:\.[a-z_]{2,40}){0,3}(?:\[:[a-z_]{2,40}\]?)?$|^@(?:[A-Z][a-z]{2,16}){0,4}(?:Password|Secret|Token|Key)(?:[A-Z][a-z]{1,16}){0,3}$/,
  /** Matches a place in a document, and an element of a page by its words: `#/components/x`, `#txt-box-password`. */
  /^#(?:\/[A-Za-z$]{1,60}){2,8}$|^#[a-z]{2,20}(?:[-_][a-z]{2,20}){1,4}$/,
  /** Matches a member of a class that code assigns: `DateTime.UtcNow;`. */
  /^(?:[A-Z][a-z]{1,16}){1,4}(?:\.(?:[A-Z][a-z]{1,16}){1,4}){1,3};$/,
  /** Matches a name of three words or more, one of them for a secret, and a digit: `forgottenPasswordAnswer1`. */
  /^[A-Za-z][a-z]{2,16}(?:[A-Z][a-z]{2,16}){2,8}V?\d$(?<=(?:[Pp]assword|[Ss]ecret|[Tt]oken)\w{1,60})/,
  /** Matches a member of what may be missing, and of the object itself: `PasswordUnlock?.Salt`, `self.rsa512jwk`. */
  /^[A-Za-z_]{1,60}[?!]\.[A-Za-z_]{1,40}$(?<=(?:[Pp]assword|[Ss]ecret|[Tt]oken)[A-Za-z_]{0,40}[?!]\.\w{1,40})|^(?:self|this)\.[a-z_]{2,24}\d{0,4}[a-z_]{0,16}$/,
  /** Matches an image of containers (OCI distribution, "Pulling manifests"), and a port with a query behind it. */
  /^(?:[a-z\d-]{1,40}\.){1,4}[a-z]{2,6}\/(?:[a-z][a-z-]{1,40}\/){0,4}[a-z][a-z-]{1,40}:v?\d{1,4}(?:\.\d{1,4}){0,3}$|^\d{1,5}\?[a-z]{1,24}(?:=|$)/,
  /** Matches the next setting, whose name is in capitals: `AWS_DEFAULT_REGION=us-east-1`. */
  /^[A-Z]{2,16}(?:_[A-Z]{2,16}){1,5}=(?:[a-z]{1,16}[-.]){0,4}[a-z]{0,16}\d{0,2}$/,
  /** Matches a question that code asks, and a footnote of reStructuredText: `!isEmpty`, `[#argon2-home]_`. */
  /^!(?:is|has|can)(?:[A-Z][a-z]{1,16}){1,3}$|^\[#[a-z]{2,16}\d?(?:-[a-z]{2,16}){0,3}\]_$/,
  /** Matches a name of two words or more whose element is asked for by another name: `neo4j_connection_params[`. */
  /^[a-z][a-z\d]{0,16}(?:_[a-z]{2,24}){1,6}\[$/,
  /** Matches a variable between two texts that code joins: `+expected1+`. */
  /^\+[a-z_]{2,24}\d{0,2}\+$/,
]);

/** The bits of order from which letters are no words, whatever form they have: `#sjcacxw-ucfngq`. */
const wordingBitsMax = 8;

/** Matches what stands anywhere in a value. */
const parts = either([
  /** Matches a part of a regular expression: a negated class, or a group with a name or a condition. */
  /\[\^|^\^?\(\?(?:P?<|[:=!])|\[A-Za-z0-9[^\]]{0,8}\][+*{]/,
  /**
   * Matches a value of which a manual leaves out the middle, and the shown head of a JSON web token:
   * `JlKBx9za9667qe4(...)xHSwRv6J`, `eyJhbGciOiJI...`.
   */
  /[0-9A-Za-z]\(\.\.\.\)[0-9A-Za-z]|^eyJ[\w-]{2,80}\.{3}/,
]);

/** Tells whether the value is plainly of another kind, in time linear in its length. */
export const isPlainValue = (value: string): boolean =>
  kinds.test(value) ||
  parts.test(value) ||
  (wordings.test(value) && randomBits(value) < wordingBitsMax) ||
  isFormat(value) ||
  isTokenHead(value);
