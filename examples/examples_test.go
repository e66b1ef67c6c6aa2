// Package examples tests the programs below it, built and run as a user would.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
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
	version := func(v string) object { return object{"_meta": object{"io.modelcontextprotocol/protocolVersion": v}} }
	if err := c.Call(t.Context(), "tools/list", version("2026-07-28"), &list); err != nil || len(list.Tools) != 2 {
		t.Errorf("tools/list of 2026-07-28 = %v with %v, want two tools", err, list)
	}
	err = c.Call(t.Context(), "server/discover", version("2099-01-01"), nil)
	want := `(code -32022, data {"requested":"2099-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]})`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("server/discover of 2099-01-01 = %v, want %s", err, want)
	}
	if err := c.Call(t.Context(), "nope", nil, nil); !errors.Is(err, stdio.ErrMethodNotFound) {
		t.Errorf("nope = %v, want %v", err, stdio.ErrMethodNotFound)
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

// servers are what the tests start instead of examples/echo: this test binary, with the name of one in the environment.
var servers = map[string]stdio.Handler{
	"stateless": func(_ context.Context, req *stdio.Request) (any, error) { // speaks only 2026-07-28
		var p struct {
			Meta object `json:"_meta"`
		}
		err := req.Bind(&p)
		if p.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" || p.Meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			return nil, &stdio.Error{Code: -32022, Message: "Unsupported protocol version"}
		}
		switch req.Method {
		case "server/discover":
			return object{"supportedVersions": []string{"2026-07-28"}, "_meta": object{"io.modelcontextprotocol/serverInfo": object{"name": "new", "version": "7"}}}, err
		case "tools/list":
			return object{"tools": []object{{"name": "a"}}}, err
		}
		return object{"resultType": "input_required", "inputRequests": object{"q": object{"method": "elicitation/create"}}}, err
	},
	"future": func(_ context.Context, req *stdio.Request) (any, error) {
		if req.Method == "initialize" {
			return nil, errors.New("no initialize here")
		}
		return object{"supportedVersions": []string{"2099-01-01"}}, nil
	},
	"past": func(context.Context, *stdio.Request) (any, error) {
		return object{"protocolVersion": "1999-01-01"}, nil
	},
	"painter": func(ctx context.Context, req *stdio.Request) (any, error) {
		var p struct{ Cursor, Name string }
		err := req.Bind(&p)
		next := map[string]string{"": "a", "a": "b", "b": "a"}[p.Cursor]
		switch {
		case req.ID == nil:
			return nil, nil
		case req.Method == "initialize":
			return object{"protocolVersion": "2024-11-05", "serverInfo": object{"name": "\x1b[2J", "version": "\r1"}}, nil
		case os.Getenv("PAGES") != "":
			return object{"tools": []object{{"name": p.Cursor, "description": "x"}}, "nextCursor": next}, err
		case req.Method == "tools/list":
			return object{"tools": []object{{"name": "\x1b[31m\tred\nline", "description": "\u202edetsrever\nmore"}}}, err
		}
		req.Conn.Notify(ctx, "notifications/progress", object{"progressToken": 1, "progress": 0.5, "message": "\x07half"})
		return map[string]any{
			"fails":   &stdio.Error{Code: 1, Message: "\x1b]0;title\x07\nline"},
			"blocks":  object{"content": []object{{"type": "resource", "resource": object{"uri": "a:b", "text": "inside"}}, {"type": "image", "mimeType": "image/\x1bpng"}, {"type": "resource_link", "uri": "c:d"}}},
			"objects": object{"content": []object{}, "structuredContent": object{"a": 1}},
			"text":    object{"content": []object{{"type": "text", "text": "\x1b[1mas it is"}}, "isError": true},
		}[p.Name], nil
	},
}

func TestMain(m *testing.M) {
	if h := servers[os.Getenv("EXAMPLES_TEST_SERVER")]; h != nil {
		stdio.Serve(context.Background(), func(ctx context.Context, req *stdio.Request) (any, error) {
			result, err := h(ctx, req)
			if e, ok := result.(*stdio.Error); ok {
				return nil, e
			}
			return result, err
		}, nil)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What servers answer that are not like examples/echo.
func TestCall_Servers(t *testing.T) {
	call := build(t, "call")
	const painted, half = `server: \x1b[2J \r1` + "\n", `progress: 0.5 \ahalf` + "\n"
	tests := []struct {
		name   string
		server string
		args   []string
		stdout string
		stderr string
		status int
	}{
		{"tools without initialize", "stateless", nil, "TOOL  DESCRIPTION\na     \n", "server: new 7\n", 0},
		{"input required", "stateless", []string{"-tool", "a"}, "",
			"server: new 7\ncall: a asks for what this client cannot give: {\"q\":{\"method\":\"elicitation/create\"}}\n", 1},
		{"unknown version without initialize", "future", nil, "", "call: Internal error (code -32603, data {\"exception\":\"*errors.errorString\",\"message\":\"no initialize here\"})\n", 1},
		{"unknown version", "past", nil, "", "call: the server speaks MCP \"1999-01-01\", and this client [\"2025-11-25\" \"2025-06-18\" \"2025-03-26\" \"2024-11-05\"]\n", 1},
		{"escapes in the table", "painter", nil, "TOOL                 DESCRIPTION\n" + `\x1b[31m\tred\nline  \u202edetsrever` + "\n", painted, 0},
		{"escapes in an error", "painter", []string{"-tool", "fails"}, "", painted + half + `call: \x1b]0;title\a` + "\nline (code 1)\n", 1},
		{"blocks", "painter", []string{"-tool", "blocks"}, "inside\n" + `(image image/\x1bpng)` + "\n(resource_link c:d)\n", painted + half, 0},
		{"structured content alone", "painter", []string{"-tool", "objects"}, "{\"a\":1}\n", painted + half, 0},
		{"failure with its text", "painter", []string{"-tool", "text"}, "\x1b[1mas it is\n", painted + half + "call: text failed\n", 1},
		{"pages in a circle", "PAGES", nil, "", painted + "call: tools/list: the cursor \"a\" comes twice\n", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), call, append(test.args, "--", os.Args[0])...)
			cmd.Env = append(os.Environ(), "EXAMPLES_TEST_SERVER="+test.server, "PAGES=")
			if test.server == "PAGES" {
				cmd.Env = append(os.Environ(), "EXAMPLES_TEST_SERVER=painter", "PAGES=yes")
			}
			check(t, cmd, test.stdout, test.stderr, test.status)
		})
	}
}

// check runs a program.
func check(t *testing.T, cmd *exec.Cmd, stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("exit status %d, want %d", got, status)
	}
	if out.String() != stdout {
		t.Errorf("stdout %q, want %q", out.String(), stdout)
	}
	if errs.String() != stderr {
		t.Errorf("stderr %q, want %q", errs.String(), stderr)
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
		{"progress", []string{"-tool", "slow", "-args", `{"steps":2,"step_ms":1}`, echo}, "done\n", "progress: 1 of 2\nprogress: 2 of 2\n", 0},
		{"no such tool", []string{"-tool", "nope", echo}, "", "unknown tool: nope", 1},
		{"no JSON", []string{"-tool", "echo", "-args", "{", echo}, "", "-args is not a JSON object: {", 2},
		{"no object", []string{"-tool", "echo", "-args", "[1]", echo}, "", "-args is not a JSON object: [1]", 2},
		{"args without tool", []string{"-args", "{}", echo}, "", "call: -args without -tool; usage: call", 2},
		{"null", []string{"-tool", "echo", "-args", "null", echo}, "", "-args is not a JSON object: null", 2},
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

// The progress of a call is shown before its result, whichever was first through the client.
func TestCall_ProgressFirst(t *testing.T) {
	call, echo := build(t, "call"), build(t, "echo")
	for range 20 {
		cmd := exec.CommandContext(t.Context(), call, "-tool", "slow", "-args", `{"steps":2,"step_ms":1}`, echo)
		got, err := cmd.CombinedOutput()
		if want := "server: echo 1.0.0\nprogress: 1 of 2\nprogress: 2 of 2\ndone\n"; err != nil || string(got) != want {
			t.Fatalf("call printed %q, %v, want %q", got, err, want)
		}
	}
}
