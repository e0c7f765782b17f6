/** Addresses as URLs have them, in the order of the configuration. */
export interface Bound {
  readonly proxy: readonly string[];
  readonly control: readonly string[];
}
