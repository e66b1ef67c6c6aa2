// A client on the TypeScript SDK that connects, sends two pings at once and prints how many were answered:
//   node pings.mjs v1|v2 TIMEOUT COMMAND ARGS...
const [line, timeout, command, ...args] = process.argv.slice(2);
const sdk = (name, v2name) => import(line === "v1" ? `@modelcontextprotocol/sdk/client/${name}.js` : `@modelcontextprotocol/client${v2name}`);
const { Client } = await sdk("index", "");
const { StdioClientTransport } = await sdk("stdio", "/stdio");

const client = new Client({ name: "framing-interop", version: "1" });
client.onerror = () => {}; // what it cannot read is its server's fault
let answered = 0;
try {
  await client.connect(new StdioClientTransport({ command, args, env: process.env }), { timeout: Number(timeout) });
  const results = await Promise.allSettled([client.ping(), client.ping()]);
  answered = results.filter((result) => result.status === "fulfilled").length;
} catch {}
console.log(answered);
await client.close();
