package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/stdio"
)

// loneSurrogate is a JSON string that no Go string can hold.
const loneSurrogate = `"a\ud83db"`

// A session is a server that others wrote, under our client.
type session struct {
	*stdio.Client
	t    *testing.T
	cmd  *exec.Cmd
	info struct {
		ServerInfo   struct{ Name, Version string }
		Capabilities map[string]json.RawMessage
	}
	notes chan *stdio.Request // all notifications
	pages int                 // of tools, read by tools

	mu  sync.Mutex
	bad []string // lines reported to OnBadLine
}

// start starts cmd, whose requests answers answers, and does the handshake with the client's capabilities.
func start(t *testing.T, cmd *exec.Cmd, capabilities string, answers stdio.Methods) *session {
	t.Helper()
	s := &session{t: t, cmd: cmd, notes: make(chan *stdio.Request, 1000)}
	handler := func(ctx context.Context, req *stdio.Request) (any, error) {
		if req.ID == nil {
			s.notes <- req
			return nil, nil
		}
		return answers.Handle(ctx, req)
	}
	c, err := stdio.Start(t.Context(), cmd, handler, &stdio.Options{OnBadLine: func(m framing.Message) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bad = append(s.bad, string(m.Line))
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = c
	t.Cleanup(func() { c.Close() })
	s.call("initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","clientInfo":{"name":"framing-interop","version":"1"},"capabilities":`+capabilities+`}`), &s.info)
	if err := c.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s", s.info.ServerInfo.Name, s.info.ServerInfo.Version)
	return s
}

// call fails the test if the call fails or takes a minute.
func (s *session) call(method string, params, result any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := s.Call(ctx, method, params, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// A toolCall is the params of tools/call.
type toolCall struct {
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
	Meta      any    `json:"_meta,omitempty"`
}

// text calls a tool and returns the JSON string that is the text of its result.
func (s *session) text(name string, arguments any) json.RawMessage {
	s.t.Helper()
	var r struct {
		Content []struct{ Text json.RawMessage }
		IsError bool
	}
	s.call("tools/call", toolCall{Name: name, Arguments: arguments}, &r)
	if r.IsError || len(r.Content) == 0 {
		s.t.Fatalf("tool %s failed: %s", name, r.Content)
	}
	return r.Content[0].Text
}

// tools returns the names of all tools, page by page.
func (s *session) tools() map[string]bool {
	s.t.Helper()
	names := map[string]bool{}
	s.pages = 0
	for cursor := ""; ; {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		s.call("tools/list", params, &page)
		s.pages++
		for _, tool := range page.Tools {
			names[tool.Name] = true
		}
		if cursor = page.NextCursor; cursor == "" {
			return names
		}
	}
}

// end closes the session and checks that the server went by itself, and that nothing was wrong on the wire but what the server
// printed there, if it is one that prints.
func (s *session) end(prints bool) {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Errorf("Close = %v", err)
	}
	if !s.cmd.ProcessState.Success() {
		s.t.Errorf("the server's end: %v", s.cmd.ProcessState)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.Stats()
	if len(s.bad) != int(stats.Syntax) || len(s.bad) > 0 != prints {
		s.t.Errorf("%d lines were no JSON, reported: %.300q", stats.Syntax, s.bad)
	}
	in := stats.In.Kinds
	if stats.InvalidUTF8+stats.TooLong+stats.Truncated+stats.Unmatched+stats.Late+in[framing.Invalid]+in[framing.Batch] > 0 {
		s.t.Errorf("something was wrong on the wire: %+v", stats)
	}
	if got, want := stats.Out.Kinds[framing.Response], in[framing.Request]; got != want {
		s.t.Errorf("we wrote %d responses to %d requests", got, want)
	}
	if n := stats.InFlight + stats.Queued + stats.Calls; n > 0 {
		s.t.Errorf("%d things are not over: %+v", n, stats)
	}
}

func unquote(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// equal compares texts that may be long.
func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %d bytes %.100q, want %d bytes %.100q", what, len(got), got, len(want), want)
	}
}

func TestServerEverything(t *testing.T) {
	const everything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
	t.Parallel()
	const sampled = "sampled \u2028 text"
	asked := make(chan string, 2)
	s := start(t, nodeCommand(t, everything), `{"sampling":{},"roots":{"listChanged":true}}`, stdio.Methods{
		"sampling/createMessage": func(_ context.Context, req *stdio.Request) (any, error) {
			asked <- string(req.Params)
			return map[string]any{"role": "assistant", "model": "none", "content": map[string]any{"type": "text", "text": sampled}}, nil
		},
		"roots/list": func(context.Context, *stdio.Request) (any, error) {
			return map[string]any{"roots": []any{map[string]any{"uri": "file:///a%20b", "name": "root"}}}, nil
		},
	})
	tools := s.tools()
	for _, name := range []string{"echo", "trigger-long-running-operation", "trigger-sampling-request", "get-roots-list"} {
		if !tools[name] {
			t.Errorf("tools/list has no %s: %v", name, tools)
		}
	}
	t.Run("texts", func(t *testing.T) {
		for name, text := range rough.Texts {
			got := s.text("echo", map[string]string{"message": text})
			equal(t, name, unquote(t, got), "Echo: "+text)
		}
		got := s.text("echo", map[string]json.RawMessage{"message": json.RawMessage(loneSurrogate)})
		equal(t, "lone surrogate", string(got), `"Echo: `+loneSurrogate[1:])
	})
	t.Run("server's requests", func(t *testing.T) {
		if got := unquote(t, s.text("trigger-sampling-request", map[string]any{"prompt": "why?"})); !strings.Contains(got, sampled) {
			t.Errorf("sampling = %q, want it to have %q", got, sampled)
		}
		if params := <-asked; !strings.Contains(params, "why?") {
			t.Errorf("we were asked %s, want the prompt in it", params)
		}
		if got := unquote(t, s.text("get-roots-list", struct{}{})); !strings.Contains(got, "file:///a%20b") {
			t.Errorf("roots = %q, want our root in it", got)
		}
	})
	t.Run("200 in flight", func(t *testing.T) { s.inFlight(t, 200) })
	t.Run("progress", func(t *testing.T) {
		s.call("tools/call", longOperation(0.05, 5, "a\u2029b"), nil)
		s.progress(t, 5, "a\u2029b")
	})
	t.Run("cancellation", s.cancellation)
	s.end(false)
}

// cancellation cancels a long operation when it has begun.
func (s *session) cancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for req := range s.notes {
			if req.Method == "notifications/progress" {
				cancel()
				return
			}
		}
	}()
	if err := s.Call(ctx, "tools/call", longOperation(0.5, 5, "cancelled"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call = %v, want context.Canceled", err)
	}
	s.progress(t, 5, "cancelled") // the tool goes on to its end, but then it must not answer: end checks that nothing came late
}

// inFlight has the server echo n texts at once.
func (s *session) inFlight(t *testing.T, n int) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var r struct{ Content []struct{ Text string } }
			text := fmt.Sprintf("call %d\r\n", i)
			if err := s.Call(t.Context(), "tools/call", toolCall{Name: "echo", Arguments: map[string]string{"message": text}}, &r); err != nil {
				t.Errorf("call %d: %v", i, err)
			} else if got, want := r.Content[0].Text, "Echo: "+text; got != want {
				t.Errorf("call %d = %q, want %q", i, got, want)
			}
		})
	}
	wg.Wait()
}

func longOperation(seconds float64, steps int, token string) toolCall {
	return toolCall{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": seconds, "steps": steps},
		Meta: map[string]string{"progressToken": token}}
}

// progress reads notifications up to the last of steps for token, whose steps must come in order.
func (s *session) progress(t *testing.T, steps int, token string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for last := 0; last < steps; {
		var p struct {
			Progress      int
			ProgressToken string
		}
		select {
		case req := <-s.notes:
			if req.Method != "notifications/progress" {
				continue
			}
			if err := req.Bind(&p); err != nil {
				t.Fatal(err)
			}
		case <-timeout:
			t.Fatalf("progress stopped at %d", last)
		}
		if p.ProgressToken != token || p.Progress <= last {
			t.Fatalf("progress = %+v after %d, want a later step of %q", p, last, token)
		}
		last = p.Progress
	}
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, nodeCommand(t, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", dir), `{}`, nil)
	if tools := s.tools(); !tools["write_file"] || !tools["read_text_file"] {
		t.Fatalf("tools = %v, want write_file and read_text_file", tools)
	}
	for name, text := range rough.Texts {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "\u2028"))
		s.text("write_file", map[string]string{"path": path, "content": text})
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name+" on disk", string(written), text)
		equal(t, name+" read", unquote(t, s.text("read_text_file", map[string]string{"path": path})), text)
	}
	list := unquote(t, s.text("list_directory", map[string]string{"path": dir}))
	if got := strings.Count(list, "[FILE]"); got != len(rough.Texts) {
		t.Errorf("list_directory lists %d files, want %d: %q", got, len(rough.Texts), list)
	}
	var r struct{ IsError bool }
	if s.call("tools/call", toolCall{Name: "read_text_file", Arguments: map[string]string{"path": "/"}}, &r); !r.IsError {
		t.Error("reading outside the directory is no error")
	}
	var e *stdio.Error
	if err := s.Call(t.Context(), "no/such/method", nil, nil); !errors.As(err, &e) || e.Code != stdio.CodeMethodNotFound {
		t.Errorf("unknown method = %v, want code %d", err, stdio.CodeMethodNotFound)
	}
	s.end(false)
}

func TestServerMemory(t *testing.T) {
	t.Parallel()
	cmd := nodeCommand(t, "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
	cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.jsonl"))
	s := start(t, cmd, `{}`, nil)
	type entity struct {
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
	}
	for name, text := range rough.Texts {
		s.text("create_entities", map[string]any{"entities": []entity{{Name: name, EntityType: "text", Observations: []string{text}}}})
		var r struct {
			StructuredContent struct{ Entities []entity }
		}
		s.call("tools/call", toolCall{Name: "open_nodes", Arguments: map[string]any{"names": []string{name}}}, &r)
		if e := r.StructuredContent.Entities; len(e) != 1 || len(e[0].Observations) != 1 {
			t.Errorf("open_nodes(%s) = %.200v, want one entity with one observation", name, r)
		} else {
			equal(t, name, e[0].Observations[0], text)
		}
	}
	if !s.tools()["read_graph"] {
		t.Error("tools/list has no read_graph")
	}
	var graph json.RawMessage
	s.call("tools/call", toolCall{Name: "read_graph", Arguments: struct{}{}}, &graph)
	if len(graph) < 4<<20 { // everything above, as text and as structured content
		t.Errorf("read_graph = %d bytes", len(graph))
	}
	s.end(false)
}

// printingServer is a published server which prints its search for a browser, on ports of this machine, to its stdout.
const printingServer = "node_modules/@agentdeskai/browser-tools-mcp/dist/mcp-server.js"

func TestServerThatPrints(t *testing.T) {
	t.Parallel()
	s := start(t, nodeCommand(t, printingServer), `{}`, nil)
	if tools := s.tools(); !tools["getConsoleLogs"] {
		t.Errorf("tools = %v, want getConsoleLogs", tools)
	}
	s.end(true)
	if s.bad[0] != "Starting server discovery process" {
		t.Errorf("bad lines = %q, want the server's log", s.bad)
	}
	for _, line := range s.bad {
		if strings.HasPrefix(line, "{") {
			t.Errorf("bad line %q, want only what the server prints", line)
		}
	}
}
