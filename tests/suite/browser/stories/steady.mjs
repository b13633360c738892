// What the text of a page says in every run.

/** Words of a page that are the same in every run: no ids, hashes, times and numbers, and each line once. */
export const steady = (shown) => {
  const lines = shown
    .replace(/sess-[0-9a-f]+/g, 'ID')
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID')
    .replace(/\b[0-9a-f]{12,}\b/g, 'HASH')
    .replace(/\b\d{4}-\d\d-\d\dT?[\d:.]*Z?/g, '')
    .replace(/\b\d+(\.\d+)? (ms|s|m|h|d)\b/g, '')
    .replace(/\d+([.:,]\d+)*/g, 'N')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim());
  return [...new Set(lines)].filter(Boolean).sort().join('\n');
};
