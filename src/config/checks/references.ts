/** The variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The outside facts that a configuration may refer to. */
interface Outside {
  readonly env: Environment;
  /** Returns the text of a file, by a path relative to the configuration. Throws where it cannot be read. */
  readonly readFile: (path: string) => string;
}

// `$${` stands for `${`. The last alternative finds what looks like a reference and is none. An unresolved
// placeholder must never be sent out as if it were the credential.
const reference =
  /\$\$\{|\$\{env:([A-Za-z_][A-Za-z0-9_]{0,127})(?::-([^}]*))?\}|\$\{file:([^}]{1,4096})\}|\$\{/g;

const resolvedBytesMax = 16 * 1024 * 1024;

/**
 * Puts variables and files into texts.
 * - `${env:NAME}` gives the variable.
 * - `${env:NAME:-text}` gives the text where the variable is not set or empty.
 * - `${file:path}` gives the file without the line break at its end.
 *
 * It works on texts that were parsed, so nothing that it puts in can become a key or a list. It works once,
 * so nothing that it puts in is looked at again. The result is bounded in total, since aliases can repeat a
 * reference to a large file.
 */
export class References {
  readonly #outside: Outside;
  readonly #files = new Map<string, string | undefined>();
  #left = resolvedBytesMax;

  constructor(outside: Outside) {
    this.#outside = outside;
  }

  /**
   * Returns the text with all references put in. A reference that leads nowhere leaves nothing in its place,
   * and is complained of.
   */
  resolve(text: string, complain: (message: string) => void): string {
    if (!text.includes('${')) return text;
    return text.replace(reference, (whole, variable?: string, fallback?: string, file?: string) => {
      if (whole === '$${') return '${';
      const found = variable !== undefined ? this.#variable(variable, fallback) : this.#file(file, complain);
      if (found === undefined && variable !== undefined) complain(`the variable ${variable} is not set`);
      this.#left -= found?.length ?? 0;
      if (this.#left >= 0) return found ?? '';
      complain('the references put in more than 16 MB');
      return '';
    });
  }

  #variable(name: string, fallback: string | undefined): string | undefined {
    const value = Object.hasOwn(this.#outside.env, name) ? this.#outside.env[name] : undefined;
    return fallback === undefined ? value : value || fallback;
  }

  #file(path: string | undefined, complain: (message: string) => void): string | undefined {
    if (path === undefined) {
      complain(
        `has "\${" that begins neither \${env:NAME}, \${env:NAME:-text} nor \${file:path}; "$\${" stands for itself`,
      );
      return undefined;
    }
    if (!this.#files.has(path)) {
      try {
        this.#files.set(path, this.#outside.readFile(path).replace(/\r?\n$/, ''));
      } catch (error) {
        this.#files.set(path, undefined);
        complain(cannotBeRead(path, error));
        return undefined;
      }
    } else if (this.#files.get(path) === undefined) complain(`the file ${path} cannot be read`);
    return this.#files.get(path);
  }
}

/** Returns a message that says which file cannot be read, and why. */
export const cannotBeRead = (file: string, error: unknown): string =>
  `the file ${file} cannot be read: ${reasonOf(error)}`;

/** Returns why a file cannot be read, without what stands in it. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'permission denied',
    EISDIR: 'it is a directory',
  };
  return known[code ?? ''] ?? code ?? message;
}
