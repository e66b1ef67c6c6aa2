package interop_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"
	"testing"

	mcpgosdk "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing/interop/gosdk"
	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/interop/mcpgo"
	"example.com/mcp/framing/stdio"
)

// serve is a server until its input ends. It has a tool slow.
type serve func(in io.ReadCloser, out io.WriteCloser)

// servers are ours, the Go SDKs' over framing and on their own transports, and the TypeScript SDK's two lines. Each is started
// with what its tool slow does.
var servers = []struct {
	name  string
	start func(t *testing.T, slow func(context.Context)) serve
	want  func(rough.Case) []string
	// What slow is answered if the input ends right behind its request: with a newline at the end, and without.
	atEnd, cutOff string
}{
	{"stdio", serveStdio, wanted, "result 1", "result 1"},
	{"go-sdk over framing", serveGoSDK(overFraming), wanted, "result 1", "result 1"},
	{"mcp-go over framing", serveMCPGo(wrapped), wanted, "result 1", "result 1"},
	{"go-sdk", serveGoSDK(onItsOwn), func(c rough.Case) []string { return c.GoSDK }, rough.Ended, rough.Ended},
	{"mcp-go", serveMCPGo(bare), func(c rough.Case) []string { return c.MCPGo }, either, rough.Ended},
	{"TypeScript v1", serveNode("v1"), func(c rough.Case) []string { return c.TS }, "result 1", rough.Ended},
	{"TypeScript v2", serveNode("v2"), func(c rough.Case) []string { return c.TS }, rough.Ended, rough.Ended},
}

// either: the tool is cancelled, and whether what it returns then is sent depends on who is faster.
const either = "either"

func wanted(c rough.Case) []string { return c.Want }

func serveStdio(t *testing.T, slow func(context.Context)) serve {
	succeed := func(context.Context, *stdio.Request) (any, error) { return nil, nil }
	methods := stdio.Methods{"ping": succeed, "initialize": succeed, "notifications/initialized": succeed}
	methods["tools/call"] = func(ctx context.Context, _ *stdio.Request) (any, error) {
		slow(ctx)
		return nil, nil
	}
	return func(in io.ReadCloser, out io.WriteCloser) {
		if err := stdio.NewConn(in, out, methods.Handle, &stdio.Options{MaxLine: rough.MaxLine}).Run(context.Background()); err != nil {
			t.Errorf("Run = %v", err)
		}
	}
}

func overFraming(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return &gosdk.IOTransport{Reader: in, Writer: out, Options: gosdk.Options{MaxLine: rough.MaxLine}}
}

func onItsOwn(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: rough.MaxLine}
}

func serveGoSDK(transport func(io.ReadCloser, io.WriteCloser) mcp.Transport) func(*testing.T, func(context.Context)) serve {
	return func(_ *testing.T, slow func(context.Context)) serve {
		s := mcp.NewServer(&mcp.Implementation{Name: "rough", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			slow(ctx)
			return &mcp.CallToolResult{}, nil, nil
		})
		return func(in io.ReadCloser, out io.WriteCloser) { s.Run(context.Background(), transport(in, out)) }
	}
}

func wrapped(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	stream := mcpgo.Wrap(in, out, mcpgo.Options{MaxLine: rough.MaxLine})
	return stream, stream
}

func bare(in io.Reader, out io.Writer) (io.Reader, io.Writer) { return in, out }

func serveMCPGo(streams func(io.Reader, io.Writer) (io.Reader, io.Writer)) func(*testing.T, func(context.Context)) serve {
	return func(_ *testing.T, slow func(context.Context)) serve {
		tools := server.NewMCPServer("rough", "1")
		tools.AddTool(mcpgosdk.NewTool("slow"), func(ctx context.Context, _ mcpgosdk.CallToolRequest) (*mcpgosdk.CallToolResult, error) {
			slow(ctx)
			return mcpgosdk.NewToolResultText("done"), nil
		})
		s := server.NewStdioServer(tools)
		s.SetErrorLogger(log.New(io.Discard, "", 0))
		return func(in io.ReadCloser, out io.WriteCloser) {
			r, w := streams(in, out)
			s.Listen(context.Background(), r, w)
		}
	}
}

// serveNode runs node/server.mjs, whose tool slow answers when its input has ended.
func serveNode(line string) func(*testing.T, func(context.Context)) serve {
	return func(t *testing.T, _ func(context.Context)) serve {
		cmd := nodeCommand(t, "node/server.mjs", line)
		t.Parallel()
		return func(in io.ReadCloser, out io.WriteCloser) { runBetween(t, cmd, in, out) }
	}
}

// runBetween runs cmd with in for its stdin and out for its stdout.
func runBetween(t *testing.T, cmd *exec.Cmd, in io.ReadCloser, out io.Writer) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return
	}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	go func() {
		io.Copy(stdin, in)
		stdin.Close()
		in.Close()
	}()
	if err := cmd.Wait(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n", cmd.Args, err)
	}
}

// TestRoughInput has each server get the input that ours outlive.
func TestRoughInput(t *testing.T) {
	for _, s := range servers {
		for _, c := range rough.Cases {
			t.Run(s.name+"/"+c.Name, func(t *testing.T) {
				rough.NewPeer(t, s.start(t, nil)).Run(t, c, s.want(c))
			})
		}
	}
}

// TestAfterEndOfInput has a client that sends its requests, closes, and reads: a shell's `server <requests`.
func TestAfterEndOfInput(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
	for _, s := range servers {
		t.Run(s.name+"/newline at the end", func(t *testing.T) { answerAfterEnd(t, s.start, call+"\n", s.atEnd) })
		t.Run(s.name+"/no newline", func(t *testing.T) { answerAfterEnd(t, s.start, call, s.cutOff) })
	}
}

// answerAfterEnd sends call, a request for slow, then ends the input and expects want for an answer.
func answerAfterEnd(t *testing.T, start func(*testing.T, func(context.Context)) serve, call, want string) {
	finish := make(chan struct{})
	run := start(t, func(ctx context.Context) {
		select {
		case <-finish:
		case <-ctx.Done():
		}
		if finishes := want == "result 1"; finishes != (ctx.Err() == nil) {
			t.Errorf("slow's context = %v", ctx.Err())
		}
	})
	ended := &eofSignal{seen: make(chan struct{})}
	peer := rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
		ended.ReadCloser = in
		run(ended, out)
	})
	go peer.Send(rough.Handshake)
	if got := peer.Answer(); got != `result "init"` {
		t.Fatalf("first answer = %s", got)
	}
	go func() {
		peer.Send(call)
		peer.CloseInput()
		<-ended.seen
		if want == "result 1" {
			close(finish) // those who give up the request cancel it: slow waits for that
		}
	}()
	if got := peer.Answer(); got != want && want != either {
		t.Errorf("answer after the end of input = %s, want %s", got, want)
	} else {
		t.Logf("answer after the end of input: %s", got)
	}
}

// eofSignal tells when the end of the input was read.
type eofSignal struct {
	io.ReadCloser
	once sync.Once
	seen chan struct{}
}

func (e *eofSignal) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err == io.EOF {
		e.once.Do(func() { close(e.seen) })
	}
	return n, err
}
