/** The addresses that the listeners have, as URLs write them, in the order of the configuration. */
export interface Bound {
  readonly proxy: readonly string[];
  readonly control: readonly string[];
}
