/** What of the WebAssembly JavaScript Interface (W3C, section 5) is used here; the types of Node leave it to those of browsers. */
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
    /** By so many pages of 64 KB; answers how many there were. */
    grow(pages: number): number;
  }
}
