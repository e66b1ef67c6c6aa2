// A server without tools on the TypeScript SDK: node server.mjs v1|v2
const [line] = process.argv.slice(2);
const [{ McpServer }, { StdioServerTransport }] =
  line === "v1"
    ? await Promise.all([import("@modelcontextprotocol/sdk/server/mcp.js"), import("@modelcontextprotocol/sdk/server/stdio.js")])
    : await Promise.all([import("@modelcontextprotocol/server"), import("@modelcontextprotocol/server/stdio")]);
await new McpServer({ name: "rough", version: "1" }).connect(new StdioServerTransport());
