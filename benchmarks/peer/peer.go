// Package peer holds servers, each a child process, and the clients that talk
// to them over its stdin and stdout: this module's, those of other
// implementations, and a bare one that shows what the pipes alone cost.
//
// A server answers two requests: ping, with an empty result, and tools/call,
// with one text of a megabyte.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"example.com/mcp/framing/benchmarks/child"
	"example.com/mcp/framing/benchmarks/traffic"
)

// Peer is a client and the server that goes with it.
type Peer struct {
	Name string
	Role string                               // of the child process
	Dial func(cmd *exec.Cmd) (Session, error) // starts cmd
	Bare bool                                 // is no JSON-RPC peer: takes one caller at a time

	serve func(in io.ReadCloser, out io.WriteCloser, text string, tool func()) error // tools/call calls tool and gives text
}

// Session is a connected client.
type Session interface {
	Ping() error        // one round trip
	Tool() (any, error) // the text of the tool's result: a string, or the result raw
	Close() error       // ends the server too
}

// Peers lists the contenders. The first is this module's, with Go structs on
// both sides as in the others; the second hands raw JSON through.
var Peers = []Peer{
	{Name: "framing/stdio", Role: "framing", Dial: dialFraming, serve: serveFraming},
	{Name: "framing/stdio, raw result", Role: "framing-raw", Dial: dialFramingRaw, serve: serveFramingRaw},
	{Name: "go-sdk", Role: "go-sdk", Dial: dialGoSDK, serve: serveGoSDK},
	{Name: "mcp-go", Role: "mcp-go", Dial: dialMCPGo, serve: serveMCPGo},
	{Name: "jrpc2", Role: "jrpc2", Dial: dialJRPC2, serve: serveJRPC2},
	{Name: "bare bufio echo", Role: "bare", Dial: dialBare, serve: serveBare, Bare: true},
}

func init() {
	for _, p := range Peers {
		child.Register(p.Role, func([]string) error { return p.serve(os.Stdin, os.Stdout, megabyte(), func() {}) })
	}
}

// Start starts p's server, behind the command line of prefix if there is one,
// and sees that it answers as it has to.
func Start(p Peer, prefix ...string) (Session, error) {
	return startWith(p, os.Stderr, prefix)
}

// StartQuietly is Start with the child's stderr thrown away: what stands
// between may report there.
func StartQuietly(p Peer, prefix ...string) (Session, error) {
	return startWith(p, nil, prefix)
}

func startWith(p Peer, stderr io.Writer, prefix []string) (Session, error) {
	cmd := child.Command(context.Background(), p.Role)
	if len(prefix) > 0 {
		cmd = child.Behind(cmd, prefix...)
	}
	cmd.Stderr = stderr
	s, err := p.Dial(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if err := check(s); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, errors.Join(err, s.Close()))
	}
	return s, nil
}

func check(s Session) error {
	if err := s.Ping(); err != nil {
		return err
	}
	got, err := s.Tool()
	if err != nil {
		return err
	}
	if raw, ok := got.(json.RawMessage); ok {
		var r toolResult
		if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) != 1 {
			return fmt.Errorf("bad raw result: %w", err)
		}
		got = r.Content[0].Text
	}
	if want := megabyte(); got != want {
		return fmt.Errorf("the tool's text is %.80q, want %.80q", got, want)
	}
	return nil
}

// toolResult is the result of tools/call.
type toolResult struct {
	Content []textContent `json:"content"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newResult(text string) toolResult { return toolResult{[]textContent{{"text", text}}} }

// megabyte returns the text that the tool of a child process gives: prose, a
// megabyte of it as JSON.
func megabyte() string {
	var r toolResult
	if err := json.Unmarshal(traffic.Result(traffic.Prose, 1<<20), &r); err != nil {
		panic(err) // the generator's fault
	}
	return r.Content[0].Text
}
