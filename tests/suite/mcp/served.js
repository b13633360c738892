// An MCP server of a package: its answer is the version of the package that it needs.
const words = require("words");
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result }));
  if (asked.method === "initialize") {
    const serverInfo = { name: "served", version: "1" };
    answer({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
  } else if (asked.method === "tools/list") {
    answer({ tools: [{ name: "work", description: "Works.", inputSchema: { type: "object" } }] });
  } else if (asked.method === "tools/call") {
    answer({ content: [{ type: "text", text: words }] });
  } else if (asked.id !== undefined) {
    const error = { code: -32601, message: "not here" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id: asked.id, error }));
  }
});
