import { readConfig } from './connection/configuration.ts';
import { readInput } from './input.ts';
import { note } from './output.ts';

export type FileDetector = Awaited<ReturnType<typeof openFileDetector>>;

const fileBytesMax = 64 * 1024 * 1024;
/** Bytes of decoded forms, more than for a call: files may be larger, and only their reader waits. */
const decodedBytesMax = 256 * 1024 * 1024;
const readingMsMax = 60_000;

/** Opens the detectors of a configured tenant; without a configuration or a tenant, those of the program. */
export async function openFileDetector(named: { readonly config?: string; readonly tenant?: string }) {
  const { loadEngines } = await import('../tenants/engines.ts');
  const { detect } = await import('../inspect/detect.ts');
  const engines = loadEngines();
  const { config } = await readConfig(named.config);
  const { disk } = await import('../config/load.ts');
  const { loadAddedDetectors } = await import('../daemon/start/loaded.ts');
  const { added } = loadAddedDetectors(config, disk);
  const engine = await engineFor(engines);
  return {
    /** Detectors that come with the gateway, and those that the configuration adds. */
    detectors: engines.detectorsWith(added),
    /** Returns what is found in a file; `-` is standard input. */
    async detect(file: string, contentType: string) {
      const bytes = await readInput(file === '-' ? undefined : file, fileBytesMax);
      const endsAt = performance.now() + readingMsMax;
      const bounds = { maxDecodedBytes: decodedBytesMax, isOver: () => performance.now() > endsAt };
      return detect(bytes, contentType, engine, bounds);
    },
  };

  async function engineFor(all: typeof engines): Promise<typeof engines.common> {
    const { enginesFor } = await import('../daemon/reload/generation.ts');
    const engineOf = enginesFor(config, added, all);
    const ids = [...config.tenants.keys()];
    if (named.tenant !== undefined) {
      if (!config.tenants.has(named.tenant)) throw new Error(`there is no tenant "${named.tenant}".`);
      return engineOf(named.tenant);
    }
    if (ids.length > 1) note('postern: several tenants; --tenant names the one whose settings count.');
    const [only = ''] = ids.length === 1 ? ids : [];
    return engineOf(only);
  }
}
