// Conformance 0.1.16 names 2025-03-26 in the version header of a session that was opened with 2025-11-25.
// The revision demands 400 for that, and later suites mended it; this preload mends the older one the same way.
const WRONG = "2025-03-26";
const RIGHT = "2025-11-25";
const HEADER = "mcp-protocol-version";
const send = globalThis.fetch;

globalThis.fetch = (url, options) => {
  if (options?.headers?.[HEADER] === WRONG) {
    return send(url, { ...options, headers: { ...options.headers, [HEADER]: RIGHT } });
  }
  return send(url, options);
};
