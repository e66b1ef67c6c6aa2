// A client on the TypeScript SDK that checks a server with the tools echo and slow:
//   node client.mjs v1|v2|v2-auto COMMAND ARGS...
// It prints the name of each check that held, and exits with 1 at the first that did not.
import assert from "node:assert/strict";

const [line, command, ...args] = process.argv.slice(2);
const v1 = line === "v1";
const sdk = (name, v2name = name) => import(v1 ? `@modelcontextprotocol/sdk/client/${name}.js` : `@modelcontextprotocol/client${v2name}`);
const { Client } = await sdk("index", "");
const { StdioClientTransport } = await sdk("stdio", "/stdio");
const { z } = await import("zod");

const options = line === "v2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "framing-interop", version: "1" }, options);
const transport = new StdioClientTransport({ command, args, stderr: "pipe" });
const complaints = [];
let stderr = "";
transport.stderr.on("data", (chunk) => (stderr += chunk));
client.onerror = (error) => complaints.push(error);
const done = (check) => console.log(check);
const call = (params, options) => (v1 ? client.callTool(params, undefined, options) : client.callTool(params, options));

await client.connect(transport);
const pid = transport.pid;
done(`connect ${client.getNegotiatedProtocolVersion?.() ?? ""}`.trim());

const { tools } = await client.listTools();
const echo = tools.find((tool) => tool.name === "echo");
assert(echo && tools.some((tool) => tool.name === "slow"), JSON.stringify(tools));
done("tools");

const [argument] = Object.keys(echo.inputSchema.properties);
const say = async (text) => (await call({ name: "echo", arguments: { [argument]: text } })).content[0].text;
const texts = [
  "", "a\nb\rc\r\nd\v\f", "a\u2028b\u2029c\u0085d", "\0\x1b\x1f\x7f", "\ufeffa\ufeff", "👩‍🚀🏳️‍🌈", "日本語 中文 한국어 𠮷",
  `</script>&<>'"\\/`, `{"jsonrpc":"2.0","id":1,"result":{}}\n`, "0123456789abcdef".repeat(1 << 16), "語".repeat((1 << 20) / 3),
];
for (const text of texts) assert.equal(await say(text), text);
done("texts");

// JSON.stringify writes it as an escape, and no Go string can hold it: the server must not have decoded and encoded it.
const lone = await say("a\ud83db");
assert([`a\ud83db`, "a\ufffdb"].includes(lone), JSON.stringify(lone));
done(`lone surrogate ${lone === "a\ud83db" ? "kept" : "replaced"}`);

const many = Array.from({ length: 200 }, (_, i) => `call ${i}\r\n`);
assert.deepEqual(await Promise.all(many.map(say)), many);
done("200 in flight");

const code = async (promise) => promise.then(() => "no error", (error) => error.code);
assert.equal(await code(client.request({ method: "no/such/method", params: {} }, z.any())), -32601);
done("unknown method");
const unknown = await call({ name: "no such tool", arguments: {} }).then((r) => r.isError, (error) => error.code);
assert([true, -32602].includes(unknown), String(unknown));
done("unknown tool");

const slow = (steps, options) => call({ name: "slow", arguments: { steps, step_ms: 10 } }, options);
const steps = [];
await slow(5, { onprogress: (p) => steps.push(p.progress) });
// Both clients handle a progress after the result that they read together with it, and then no longer know its token.
await new Promise(setImmediate);
const late = complaints.splice(0);
assert.deepEqual(steps, [1, 2, 3, 4, 5].slice(0, 5 - late.length));
assert(late.length <= 1 && late.every((error) => /unknown token.*"progress":5/.test(error.message)), String(late));
done("progress");

const abort = new AbortController();
await assert.rejects(slow(100_000, { signal: abort.signal, onprogress: () => abort.abort() }));
assert.equal(await say("still there"), "still there");
done("cancellation");

await client.close();
assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
done("close");
assert.deepEqual(complaints, []);
assert.equal(stderr, "");
done("no complaints");
