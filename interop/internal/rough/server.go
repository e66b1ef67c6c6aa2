package rough

import (
	"fmt"
	"io"
	"strings"

	"example.com/mcp/framing"
)

// A Habit is what a server does around one of two answers, with how many of the two a client then gets. A client that gets
// neither has ended its session, or never begun it.
type Habit struct {
	Name   string
	answer func(id string) string // to the first ping
	last   bool                   // the second ping is answered before it
	start  string                 // written before everything

	Want  int // over framing and over stdio
	GoSDK int // observed: go-sdk v1.8.0 on its own transport
	MCPGo int // observed: mcp-go v1.2.1 on its own reader
	TS    int // observed: TypeScript SDK 1.32.2 and 2.4.0
	// TSCloses: a TypeScript client then closes, and sees the second answer only if it comes before that is done.
	TSCloses bool
}

// Habits are the habits.
var Habits = []Habit{
	{Name: "prints a log line", answer: func(id string) string { return "Server listening on port 3000\n" + pong(id) },
		Want: 2, GoSDK: 0, MCPGo: 2, TS: 2},
	{Name: "prints blank lines", answer: func(id string) string { return "\n\n" + pong(id) },
		Want: 2, GoSDK: 2, MCPGo: 2, TS: 2},
	{Name: "begins with a BOM", answer: pong, start: "\ufeff",
		Want: 2, GoSDK: 0, MCPGo: 0, TS: 0},
	{Name: "writes CRLF", answer: func(id string) string { return strings.TrimSpace(pong(id)) + "\r\n" },
		Want: 2, GoSDK: 2, MCPGo: 2, TS: 2},
	{Name: "ends a line with a space", answer: func(id string) string { return strings.TrimSpace(pong(id)) + " \n" },
		Want: 2, GoSDK: 0, MCPGo: 2, TS: 2},
	{Name: "breaks an answer over two lines", answer: func(id string) string { return strings.Replace(pong(id), ",", ",\n", 1) },
		Want: 1, GoSDK: 2, MCPGo: 1, TS: 1},
	{Name: "omits the last newline", answer: func(id string) string { return strings.TrimSpace(pong(id)) }, last: true,
		Want: 2, GoSDK: 2, MCPGo: 1, TS: 1},
	{Name: "complains under id null", answer: func(id string) string {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}` + "\n" + pong(id)
	}, Want: 2, GoSDK: 0, MCPGo: 2, TS: 2},
	{Name: "answers under a float", answer: func(id string) string { return pong(id + ".0") },
		Want: 2, GoSDK: 2, MCPGo: 2, TS: 2},
	{Name: "answers under a string", answer: func(id string) string { return pong(`"` + id + `"`) },
		Want: 2, GoSDK: 1, MCPGo: 1, TS: 2},
	{Name: "answers with 24 MiB", answer: func(id string) string {
		return strings.Replace(pong(id), "{}", `{"_meta":{"x":"`+strings.Repeat("x", 24<<20)+`"}}`, 1)
	}, Want: 2, GoSDK: 0, MCPGo: 2, TS: 1, TSCloses: true},
}

func pong(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n" }

// LosesHandshake reports whether a client that cannot stand h never hears of the handshake, and waits for ever.
func (h Habit) LosesHandshake() bool { return h.start != "" }

// Serve is a server with the habit. It answers the handshake and two pings, and leaves the closing of out to its caller.
func (h Habit) Serve(in io.Reader, out io.Writer) {
	start := h.start
	write := func(s string) {
		io.WriteString(out, start+s)
		start = ""
	}
	first := ""
	for m, err := range framing.NewReader(in).All() {
		id := string(m.ID)
		switch {
		case err != nil:
			return
		case m.Kind != framing.Request:
		case m.Method == "initialize":
			write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, serverInfo))
		case m.Method != "ping":
			write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", id))
		case first == "":
			first = id
		case h.last:
			write(pong(id) + h.answer(first))
			return
		default:
			write(h.answer(first) + pong(id))
			return
		}
	}
}

const serverInfo = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"rough","version":"1"}}`

// Start runs the server on new streams, which it closes when it is done. The client's side is returned.
func (h Habit) Start() (in io.ReadCloser, out io.WriteCloser) {
	serverIn, out := io.Pipe()
	in, serverOut := io.Pipe()
	go func() {
		h.Serve(serverIn, serverOut)
		serverOut.Close()
		serverIn.Close()
	}()
	return in, out
}

// CountPings returns how many of two pings at once are answered.
func CountPings(ping func() error) int {
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- ping() }()
	}
	n := 0
	for range 2 {
		if <-errs == nil {
			n++
		}
	}
	return n
}
