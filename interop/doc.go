// Package interop holds tests that run framing and stdio against MCP software that others wrote, over real child processes:
// see README.md. The packages gosdk and mcpgo under it put framing into the Go SDKs.
package interop
