// Package examples tests the programs below it, built and run as a user would.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/mcp/framing/stdio"
)

// build builds an example and returns the program.
func build(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

type object = map[string]any

func TestEcho(t *testing.T) {
	progress := make(chan string, 10)
	c, err := stdio.Start(t.Context(), exec.Command(build(t, "echo")), func(_ context.Context, req *stdio.Request) (any, error) {
		progress <- string(req.Params)
		return nil, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25"} {
		var got struct{ ProtocolVersion string }
		if err := c.Call(t.Context(), "initialize", object{"protocolVersion": asked}, &got); err != nil || got.ProtocolVersion != want {
			t.Errorf("initialize with %s = %v with %s, want %s", asked, err, got.ProtocolVersion, want)
		}
	}
	var discovered struct{ SupportedVersions []string }
	if err := c.Call(t.Context(), "server/discover", nil, &discovered); err != nil || len(discovered.SupportedVersions) != 5 || discovered.SupportedVersions[0] != "2026-07-28" {
		t.Errorf("server/discover = %v with %v, want 2026-07-28 and the older four", err, discovered)
	}
	if err := c.Call(t.Context(), "ping", nil, nil); err != nil {
		t.Errorf("ping = %v", err)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := c.Call(t.Context(), "tools/list", nil, &list); err != nil || len(list.Tools) != 2 {
		t.Errorf("tools/list = %v with %v, want two tools", err, list)
	}
	for _, text := range []string{`""`, `"line1\nline2\r\n\t\u0000"`, `"\ud83d"`, `"😀 中文 </script>&<>"`, `"\u2028\u2029\u0085"`, `"` + strings.Repeat("x", 1<<20) + `"`} {
		var result struct {
			Content []struct{ Text json.RawMessage }
		}
		err := c.Call(t.Context(), "tools/call", object{"name": "echo", "arguments": object{"text": json.RawMessage(text)}}, &result)
		if err != nil || len(result.Content) != 1 || string(result.Content[0].Text) != text {
			t.Errorf("echo of %.60s = %v with %.60s", text, err, result)
		}
	}
	for _, params := range []object{{"name": "echo"}, {"name": "echo", "arguments": object{"text": 5}}, {"name": "nope"}, {"name": 5}} {
		if err := c.Call(t.Context(), "tools/call", params, nil); err == nil || !strings.Contains(err.Error(), "-32602") {
			t.Errorf("tools/call with %v = %v, want -32602", params, err)
		}
	}
	slow := func(ctx context.Context, steps, ms int) error {
		return c.Call(ctx, "tools/call", object{"name": "slow", "arguments": object{"steps": steps, "step_ms": ms}, "_meta": object{"progressToken": "p"}}, nil)
	}
	if err := slow(t.Context(), 2, 1); err != nil {
		t.Errorf("slow = %v", err)
	}
	for _, want := range []string{`{"progress":1,"progressToken":"p","total":2}`, `{"progress":2,"progressToken":"p","total":2}`} {
		if got := <-progress; got != want {
			t.Errorf("progress %s, want %s", got, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-progress; stop() }()
	if err := slow(ctx, 1e6, 1); err != context.Canceled {
		t.Errorf("slow, cancelled = %v, want %v", err, context.Canceled)
	}
	if err := c.Close(); err != nil { // the server would drain the cancelled one for 5 s, and the Grace is 2 s
		t.Errorf("Close() = %v, want nil", err)
	}
	if s := c.Stats(); s.Unmatched != 0 || s.Late != 0 {
		t.Errorf("Stats() has %d unmatched, %d late, want the cancelled call not answered", s.Unmatched, s.Late)
	}
}

// What was read before the end of the stream is answered, a slow call and a line that is no message included.
func TestEcho_RawBytesToEOF(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), build(t, "echo"))
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"slow","arguments":{"steps":2,"step_ms":20}}}` + "\r\n" +
		"hello\n" + `{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var m struct{ ID, Result, Error json.RawMessage }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		got[string(m.ID)] = string(m.Result) + string(m.Error)
	}
	for id, want := range map[string]string{"9007199254740993": `"done"`, "null": "-32700", `"\u0061"`: "{}"} {
		if !strings.Contains(got[id], want) || len(got) != 3 {
			t.Errorf("answers %v, want one for id %s with %s in it, and three in all", got, id, want)
		}
	}
}

func TestCall(t *testing.T) {
	call, echo := build(t, "call"), build(t, "echo")
	tests := []struct {
		name   string
		args   []string
		stdout string
		stderr string // a part of it
		status int
	}{
		{"tools", []string{"--", echo}, "TOOL  DESCRIPTION\necho  Returns the text as it came.\nslow  Takes its time, in steps of step_ms, and tells its progress.\n", "server: echo 1.0.0\n", 0},
		{"a tool", []string{"-tool", "echo", "-args", `{"text":"hello\nworld"}`, "--", echo}, "hello\nworld\n", "", 0},
		{"progress", []string{"-tool", "slow", "-args", `{"steps":2,"step_ms":1}`, echo}, "done\n", "progress: 1 of 2 \nprogress: 2 of 2 \n", 0},
		{"no such tool", []string{"-tool", "nope", echo}, "", "unknown tool: nope", 1},
		{"no JSON", []string{"-tool", "echo", "-args", "{", echo}, "", "-args is not a JSON object: {", 2},
		{"no object", []string{"-tool", "echo", "-args", "[1]", echo}, "", "-args is not a JSON object: [1]", 2},
		{"no command", []string{"-tool", "echo"}, "", "usage: call", 2},
		{"no such flag", []string{"-x", echo}, "", "usage: call", 2},
		{"no such program", []string{"--", "/no/such/program"}, "", "/no/such/program", 1},
		{"no server", []string{"--", "go", "version"}, "", "not a message: go version", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), call, test.args...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if status := cmd.ProcessState.ExitCode(); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if out.String() != test.stdout {
				t.Errorf("stdout %q, want %q", out.String(), test.stdout)
			}
			if !strings.Contains(errs.String(), test.stderr) {
				t.Errorf("stderr %q, want %q in it", errs.String(), test.stderr)
			}
		})
	}
}
