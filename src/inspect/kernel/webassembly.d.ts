/**
 * Types of the WebAssembly JavaScript Interface (W3C, section 5) that are used here. Node's types leave them
 * to browsers.
 */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module);
    readonly exports: unknown;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
    /** Grows the memory by pages of 64 KB; returns the number of pages before. */
    grow(pages: number): number;
  }
}
