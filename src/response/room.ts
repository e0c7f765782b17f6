/** Limits the memory for answers that are being read, so that no tenant takes all of it from the others. */
export interface AnswerRoom {
  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(tenantId: string, bytes: number): boolean;
}

export function createAnswerRoom(bytesMax: number, tenantBytesMax: number): AnswerRoom {
  /** Bytes by tenant. Administrators make tenants, so there are not many. */
  const keptBy = new Map<string, number>();
  let kept = 0;
  return {
    keep(tenantId, bytes) {
      const own = (keptBy.get(tenantId) ?? 0) + bytes;
      if (bytes > 0 && (own > tenantBytesMax || kept + bytes > bytesMax)) return false;
      kept += bytes;
      keptBy.set(tenantId, own);
      return true;
    },
  };
}
