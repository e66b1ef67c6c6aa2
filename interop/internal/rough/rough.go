// Package rough holds what peers really send, for tests of servers that must outlive it.
package rough

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ended stands in a list of answers where the server ended before it answered the ping that follows the case.
const Ended = "ended"

// NoInit stands in a list of answers where initialize got no result, and the server lives.
const NoInit = "initialize lost"

// MaxLine is the limit that servers under test are given, where they take one.
const MaxLine = 4096

// A Case is something sent to a server, with the answers it gets: each "result ID" or "CODE ID".
type Case struct {
	Name  string
	Old   bool     // the handshake is for MCP 2025-03-26, the last revision with batches
	Start string   // sent before the handshake, without a newline of its own
	Send  string   // sent after it
	Want  []string // over framing, whatever the SDK
	GoSDK []string // observed: go-sdk v1.8.0 on its own transport
	MCPGo []string // observed: mcp-go v1.2.1 on its own reader
	TS    []string // observed: TypeScript SDK 1.32.2 and 2.4.0
}

// Cases are the cases. In each the server is alive when the next request comes, if it is over framing.
var Cases = []Case{
	{Name: "log line", Send: "Server listening on port 3000\n",
		Want:  []string{"-32700 null"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "BOM at the start", Start: "\ufeff",
		Want:  nil,
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null", NoInit},
		TS:    []string{NoInit}},
	{Name: "BOM later", Send: "\ufeff" + ping("7"),
		Want:  []string{"-32700 null"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "blank lines", Send: "\n \t\n\r\n",
		Want:  nil,
		GoSDK: nil,
		MCPGo: []string{"-32700 null", "-32700 null", "-32700 null"},
		TS:    nil},
	{Name: "CRLF", Send: strings.Replace(ping("7"), "\n", "\r\n", 1),
		Want:  []string{"result 7"},
		GoSDK: []string{"result 7"},
		MCPGo: []string{"result 7"},
		TS:    []string{"result 7"}},
	{Name: "space before the newline", Send: strings.Replace(ping("7"), "\n", " \n", 1),
		Want:  []string{"result 7"},
		GoSDK: []string{Ended},
		MCPGo: []string{"result 7"},
		TS:    []string{"result 7"}},
	{Name: "message broken over two lines", Send: strings.Replace(ping("7"), `,"method"`, ",\n"+`"method"`, 1),
		Want:  []string{"-32700 null", "-32700 null"},
		GoSDK: []string{"result 7"},
		MCPGo: []string{"-32700 null", "-32700 null"},
		TS:    nil},
	{Name: "two messages on one line", Send: strings.TrimSpace(ping("7")) + ping("8"),
		Want:  []string{"-32700 null"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "Content-Length header", Send: "Content-Length: 40\r\n\r\n" + ping("7"),
		Want:  []string{"-32700 null", "result 7"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null", "-32700 null", "result 7"},
		TS:    []string{"result 7"}},
	{Name: "invalid UTF-8", Send: `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + "\xff" + `"}}` + "\n",
		Want:  []string{"-32700 null"},
		GoSDK: []string{"result 7"},
		MCPGo: []string{"result 7"},
		TS:    []string{"result 7"}},
	{Name: "not JSON-RPC", Send: `{"id":7}` + "\n42\n",
		Want:  []string{"-32600 7", "-32600 null"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32600 7", "-32700 null"},
		TS:    nil},
	{Name: "method not a string", Send: `{"jsonrpc":"2.0","id":7,"method":7}` + "\n",
		Want:  []string{"-32600 7"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "batch", Send: "[" + strings.TrimSpace(ping("7")) + "]\n",
		Want:  []string{"-32600 null"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "batch, MCP 2025-03-26", Old: true, Send: "[" + strings.TrimSpace(ping("7")) + "]\n",
		Want:  []string{"-32600 null"},
		GoSDK: []string{"[result 7]"},
		MCPGo: []string{"-32700 null"},
		TS:    nil},
	{Name: "error response with id null", Send: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}` + "\n",
		Want:  nil,
		GoSDK: []string{Ended},
		MCPGo: nil,
		TS:    nil},
	{Name: "broken response", Send: `{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"both"}}` + "\n",
		Want:  nil,
		GoSDK: nil,
		MCPGo: nil,
		TS:    nil},
	{Name: "request over the limit", Send: `{"jsonrpc":"2.0","method":"ping","params":{"x":"` + strings.Repeat("x", 2*MaxLine) + `"},"id":7}` + "\n",
		Want:  []string{"-32600 7"},
		GoSDK: []string{Ended},
		MCPGo: []string{"result 7"},
		TS:    []string{"result 7"}}, // mcp-go has no limit
	{Name: "nested 1,500 deep", Send: `{"jsonrpc":"2.0","id":7,"method":"none","params":{"x":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + "}}\n",
		Want:  []string{"-32601 7"},
		GoSDK: []string{Ended},
		MCPGo: []string{"-32601 7"},
		TS:    []string{"-32601 7"}},
	{Name: "repeated id", Send: `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}` + "\n",
		Want:  []string{"-32600 7"},
		GoSDK: []string{"result 8"},
		MCPGo: []string{"result 8"},
		TS:    []string{"result 8"}},
	{Name: "request with id null", Send: ping("null"),
		Want:  []string{"-32600 null"},
		GoSDK: nil,
		MCPGo: nil,
		TS:    nil},
	{Name: "id with a fraction", Send: ping("1.5"),
		Want:  []string{"-32600 1.5"},
		GoSDK: []string{"result 1"},
		MCPGo: []string{"result 1.5"},
		TS:    nil},
	{Name: "id 2^53", Send: ping("9007199254740992"),
		Want:  []string{"result 9007199254740992"},
		GoSDK: []string{"result 9007199254740992"},
		MCPGo: []string{"result 9007199254740992"},
		TS:    nil},
	{Name: "id 2^53+1", Send: ping("9007199254740993"),
		Want:  []string{"result 9007199254740993"},
		GoSDK: []string{"result 9007199254740992"},
		MCPGo: []string{"result 9007199254740992"},
		TS:    nil},
	{Name: "id -2^63-1", Send: ping("-9223372036854775809"),
		Want:  []string{"result -9223372036854775809"},
		GoSDK: []string{"result -9223372036854775808"},
		MCPGo: []string{"result -9223372036854776000"},
		TS:    nil},
	{Name: "id with an escaped NUL", Send: ping(`"a\u0000b"`),
		Want:  []string{`result "a\u0000b"`},
		GoSDK: []string{`result "a\u0000b"`},
		MCPGo: []string{`result "a\u0000b"`},
		TS:    []string{`result "a\u0000b"`}},
	{Name: "id with half a surrogate pair", Send: ping(`"\ud83d"`),
		Want:  []string{`result "\ud83d"`},
		GoSDK: []string{`result "�"`},
		MCPGo: []string{`result "�"`},
		TS:    []string{`result "\ud83d"`}},
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" }

// Handshake is what a client sends before its first request.
const Handshake = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rough","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// A Peer is the client's side of a server under test, without any library between.
type Peer struct {
	w   io.WriteCloser
	out io.Closer
	r   *bufio.Scanner
}

// NewPeer returns the client's side for serve, which it runs and which must return when in ends or is closed.
func NewPeer(t testing.TB, serve func(in io.ReadCloser, out io.WriteCloser)) *Peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(inR, outW)
		inR.Close()
		outW.Close()
	}()
	p := &Peer{w: inW, out: outR, r: bufio.NewScanner(outR)}
	p.r.Buffer(nil, 1<<24)
	hung := time.AfterFunc(time.Minute, func() { t.Error("the server hangs"); inW.Close(); outR.Close() })
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		<-done
		hung.Stop()
	})
	return p
}

// Send writes s, and gives up when the server has ended.
func (p *Peer) Send(s string) { io.WriteString(p.w, s) }

// CloseInput ends what the server reads.
func (p *Peer) CloseInput() { p.w.Close() }

// Answer returns the next answer, or Ended. That to a batch is in brackets.
func (p *Peer) Answer() string {
	for p.r.Scan() {
		one, isBatch := bytes.CutPrefix(p.r.Bytes(), []byte("["))
		text := answer(bytes.TrimSuffix(one, []byte("]")))
		switch {
		case text == "": // a notification
		case isBatch:
			return "[" + text + "]"
		default:
			return text
		}
	}
	return Ended
}

// answer describes a response, or returns "" for another message.
func answer(line []byte) string {
	var m struct {
		ID, Method, Result json.RawMessage
		Error              *struct{ Code int }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Sprintf("not JSON: %q", line)
	}
	switch {
	case m.Method != nil:
		return ""
	case m.Error != nil:
		return fmt.Sprintf("%d %s", m.Error.Code, m.ID)
	}
	return "result " + string(m.ID)
}

// Run sends c and a ping after it, closes, and fails t unless the answers to c are want, in any order.
func (p *Peer) Run(t testing.TB, c Case, want []string) {
	t.Helper()
	expected := len(want)
	for _, w := range want {
		if w == NoInit || w == Ended {
			expected--
		}
	}
	got, init := p.exchange(c, expected)
	if !init && !slices.Contains(got, Ended) {
		got = append(got, NoInit)
	}
	slices.Sort(got)
	t.Logf("answers to %s: %q", c.Name, got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("answers to %s = %q, want %q", c.Name, got, want)
	}
}

// exchange returns the answers to c, and whether there was one to initialize. Ended is among them if the pings after the
// handshake and after c are not both answered. The input is closed when these are, and expected answers besides: some may be
// overtaken by the last ping's, and some servers forget what is in hand when their input ends.
func (p *Peer) exchange(c Case, expected int) (got []string, init bool) {
	handshake := Handshake
	if c.Old {
		handshake = strings.Replace(handshake, "2025-11-25", "2025-03-26", 1)
	}
	go p.Send(c.Start + handshake + ping(`"ready"`))
	alive := false
	for {
		switch a := p.Answer(); a {
		case `result "init"`:
			init = true
		case `result "ready"`: // only now is the handshake done with
			go p.Send(c.Send + ping(`"alive"`))
		case `result "alive"`:
			alive = true
		case Ended:
			if !alive {
				got = append(got, a)
			}
			return got, init
		default:
			got = append(got, a)
		}
		if alive && len(got) >= expected {
			p.CloseInput()
		}
	}
}
