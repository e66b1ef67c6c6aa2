package interop_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypeScriptClients runs node/client.mjs, which checks the server on its own and prints what held.
func TestTypeScriptClients(t *testing.T) {
	t.Parallel()
	const checks = "tools, texts, lone surrogate kept, 200 in flight, unknown method, unknown tool, progress, cancellation, close, no complaints"
	echo := build(t, "./examples/echo")
	for _, tt := range []struct{ line, connect string }{
		{"v1", "connect"},
		{"v2", "connect 2025-11-25"},
		{"v2-auto", "connect 2026-07-28"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			got := strings.Join(strings.Split(strings.TrimSpace(output(t, nodeCommand(t, "node/client.mjs", tt.line, echo))), "\n"), ", ")
			if want := tt.connect + ", " + checks; got != want {
				t.Errorf("checks that held = %s\nwant %s", got, want)
			}
		})
	}
}

// TestInspector runs the command line of the MCP Inspector.
func TestInspector(t *testing.T) {
	t.Parallel()
	const script = "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js"
	echo := build(t, "./examples/echo")
	inspect := func(result any, args ...string) {
		t.Helper()
		cmd := nodeCommand(t, script, append([]string{"--cli", echo, "--method"}, args...)...)
		cmd.Dir = filepath.Dir(script) // it finds its package.json only from here
		if out := output(t, cmd); json.Unmarshal([]byte(out), result) != nil {
			t.Fatalf("%v printed %s, want JSON", args, out)
		}
	}
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
	}
	inspect(&list, "tools/list")
	for _, tool := range list.Tools {
		if tool.Name != "echo" {
			continue
		}
		for argument := range tool.InputSchema.Properties {
			const text = "a\nb 日本 \u2028 </script>"
			var r struct{ Content []struct{ Text string } }
			inspect(&r, "tools/call", "--tool-name", "echo", "--tool-arg", argument+"="+text)
			if len(r.Content) != 1 || r.Content[0].Text != text {
				t.Errorf("echo = %q, want %q", r, text)
			}
			return
		}
	}
	t.Errorf("tools/list = %+v, want echo with an argument", list)
}
