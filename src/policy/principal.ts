import { compileGlob, type Glob } from './glob.ts';

/*
 * Principals are mail addresses, or names as the tool gives them (a login, an ARN, an account). A pattern without a name before
 * its `@` speaks of the domain: `acme.com`, `@acme.com`, `*.acme.com`, with a trailing `$` as other tools write it. Domains are
 * compared without case (RFC 5321, 2.4), everything else with it.
 */

/** The pattern without its optional `$` and leading `@`. */
export const principalGlob = (pattern: string): string => pattern.replace(/\$$/, '').replace(/^@/, '');

export function compilePrincipalPattern(pattern: string): Glob {
  const glob = principalGlob(pattern);
  const isAddress = glob.includes('@');
  const matches = compileGlob(isAddress ? lowerDomain(glob) : glob);
  if (isAddress) return (principal) => matches(lowerDomain(principal));
  const matchesDomain = compileGlob(glob.toLowerCase());
  return (principal) => {
    const at = principal.lastIndexOf('@');
    return at < 0 ? !pattern.startsWith('@') && matches(principal) : matchesDomain(domainOf(principal, at));
  };
}

/** Behind the last `@`, without the `>` of `Name <address>` and the dot that ends a fully qualified name. */
const domainOf = (principal: string, at: number): string =>
  principal
    .slice(at + 1)
    .toLowerCase()
    .replace(/[>\s]{1,8}$/, '')
    .replace(/\.$/, '');

function lowerDomain(address: string): string {
  const at = address.lastIndexOf('@');
  return at < 0 ? address : address.slice(0, at + 1) + address.slice(at + 1).toLowerCase();
}
