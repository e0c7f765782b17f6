import { compileGlob, type Glob } from '../../util/glob.ts';

/*
 * Principals are mail addresses, or names as the tool gives them (a login, an ARN, an account). A pattern
 * without a name before its `@` is about the domain: `acme.com`, `@acme.com`, `*.acme.com`. It may end in
 * `$`, as other tools write it.
 *
 * Domains are compared without case (RFC 5321, 2.4). Everything else is compared with case in a rule that
 * allows, and without it in any other rule. Mail servers and code hosts deliver to `Bob` what is for `bob`,
 * and that must not be a way around a denial.
 */

/** Returns the pattern without its optional `$` and leading `@`. */
export const principalGlob = (pattern: string): string => pattern.replace(/\$$/, '').replace(/^@/, '');

export function compilePrincipalPattern(pattern: string, allows: boolean): Glob {
  const glob = principalGlob(pattern);
  const isAddress = glob.includes('@');
  const matches = compileGlob(isAddress ? lowerDomain(glob) : glob, !allows);
  if (isAddress) return (principal) => matches(addressOf(principal));
  const matchesDomain = compileGlob(glob.toLowerCase());
  return (principal) => {
    if (!principal.includes('@')) return !pattern.startsWith('@') && matches(principal);
    const address = addressOf(principal);
    return matchesDomain(address.slice(address.lastIndexOf('@') + 1));
  };
}

/**
 * Returns the address in `Bob <bob@Acme.com.>`. Its domain is in lower case and without the final dot of a
 * fully qualified name.
 */
function addressOf(principal: string): string {
  const text = principal.trim();
  const address = text.endsWith('>') ? text.slice(text.lastIndexOf('<') + 1, -1).trim() : text;
  return lowerDomain(address.endsWith('.') ? address.slice(0, -1) : address);
}

function lowerDomain(address: string): string {
  const at = address.lastIndexOf('@');
  return at < 0 ? address : address.slice(0, at + 1) + address.slice(at + 1).toLowerCase();
}
