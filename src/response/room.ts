/** How much of the answers that are being read may be in memory, so that no tenant takes all of it from the others. */
export interface AnswerRoom {
  /** May so much more be kept? What was granted is given back with a negative number. */
  keep(tenantId: string, bytes: number): boolean;
}

export function createAnswerRoom(bytesMax: number, tenantBytesMax: number): AnswerRoom {
  /** Tenants are made by administrators: there are not many. */
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
