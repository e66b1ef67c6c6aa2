// A server on the TypeScript SDK, with a tool that answers only after the end of the input: node server.mjs v1|v2
const [line] = process.argv.slice(2);
const [{ McpServer }, { StdioServerTransport }] =
  line === "v1"
    ? await Promise.all([import("@modelcontextprotocol/sdk/server/mcp.js"), import("@modelcontextprotocol/sdk/server/stdio.js")])
    : await Promise.all([import("@modelcontextprotocol/server"), import("@modelcontextprotocol/server/stdio")]);
const server = new McpServer({ name: "rough", version: "1" });
server.registerTool("slow", {}, async () => {
  await new Promise((resolve) => process.stdin.once("end", () => setImmediate(resolve)));
  return { content: [{ type: "text", text: "done" }] };
});
await server.connect(new StdioServerTransport());
