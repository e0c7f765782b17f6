export const kilobyte = 1024;
export const megabyte = 1024 * kilobyte;
export const gigabyte = 1024 * megabyte;
const units: Readonly<Record<string, number>> = { '': 1, k: kilobyte, m: megabyte, g: gigabyte };

/**
 * Parses a size in bytes, such as `4096`, `256KB`, `1MB` or `2GiB` (units of 1024); undefined for any other
 * text.
 */
export function parseSize(text: string): number | undefined {
  const [, digits, name] = /^(\d{1,15}) ?(?:([KMG])i?)?B?$/i.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (units[(name ?? '').toLowerCase()] ?? 1);
}

/** Returns a size as text in the largest unit that divides it: `32 MB`, `256 KB`, `1000 bytes`. */
export function sizeText(bytes: number): string {
  const [name, unit] = (
    [
      ['GB', gigabyte],
      ['MB', megabyte],
      ['KB', kilobyte],
    ] as const
  ).find(([, it]) => bytes >= it && bytes % it === 0) ?? ['bytes', 1];
  return `${bytes / unit} ${name}`;
}
