package mcpgo_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/interop/mcpgo"
)

// listeners serve over framing and without.
var listeners = map[string]func(s *server.StdioServer, in io.Reader, out io.Writer) error{
	"framing": func(s *server.StdioServer, in io.Reader, out io.Writer) error {
		stream := mcpgo.Wrap(in, out, mcpgo.Options{MaxLine: rough.MaxLine})
		return s.Listen(context.Background(), stream, stream)
	},
	"stock": func(s *server.StdioServer, in io.Reader, out io.Writer) error {
		return s.Listen(context.Background(), in, out)
	},
}

func newServer() *server.StdioServer {
	s := server.NewStdioServer(server.NewMCPServer("rough", "1"))
	s.SetErrorLogger(log.New(io.Discard, "", 0))
	return s
}

func TestServerOutlivesRoughInput(t *testing.T) {
	for name, listen := range listeners {
		for _, c := range rough.Cases {
			want := c.Want
			if name == "stock" {
				want = c.MCPGo
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
					listen(newServer(), in, out)
				}).Run(t, c, want)
			})
		}
	}
}

// TestAnswersAfterEndOfInput has a client that sends its requests, closes, and reads: a shell's `server <requests`.
func TestAnswersAfterEndOfInput(t *testing.T) {
	for name, listen := range listeners {
		t.Run(name, func(t *testing.T) {
			finish := make(chan struct{})
			ended := &eofSignal{seen: make(chan struct{})}
			cancelled := make(chan bool, 2)
			mcpServer := server.NewMCPServer("rough", "1")
			mcpServer.AddTool(mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-finish:
					cancelled <- ctx.Err() != nil
				case <-ctx.Done():
					cancelled <- true
				}
				return mcp.NewToolResultText("done"), nil
			})
			peer := rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
				ended.Reader = in
				listen(server.NewStdioServer(mcpServer), ended, out)
			})
			go peer.Send(rough.Handshake)
			if got := peer.Answer(); got != `result "init"` {
				t.Fatalf("first answer = %s", got)
			}
			// No newline at the end: the stock reader does not see the second request.
			const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
			go func() {
				peer.Send(fmt.Sprintf(call+"\n"+call, 1, 2))
				peer.CloseInput()
				<-ended.seen
				if name == "framing" {
					close(finish)
				}
			}()
			got := []string{peer.Answer(), peer.Answer()}
			slices.Sort(got)
			if name == "stock" {
				if got[0] != rough.Ended { // whether the first one's is sent depends on who is faster
					t.Errorf("stock answers = %q: it got better, and this package's doc is out of date", got)
				}
				return
			}
			if want := []string{"result 1", "result 2"}; !slices.Equal(got, want) {
				t.Errorf("answers after the end of input = %q, want %q", got, want)
			}
			if <-cancelled || <-cancelled {
				t.Error("a handler was cancelled")
			}
		})
	}
}

// eofSignal tells when the end of the input was read.
type eofSignal struct {
	io.Reader
	once sync.Once
	seen chan struct{}
}

func (e *eofSignal) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		e.once.Do(func() { close(e.seen) })
	}
	return n, err
}

// TestClientHearsOfBadLines has a server that prints between its answers, and whose last answer has no newline.
func TestClientHearsOfBadLines(t *testing.T) {
	const noise = "Server started"
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	go func() {
		r := framing.NewReader(serverIn)
		io.WriteString(serverOut, "\ufeff")
		for m, err := range r.All() {
			if err != nil {
				break
			}
			switch m.Method {
			case "initialize":
				fmt.Fprintf(serverOut, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`+"\n%s\n", m.ID, noise)
			case "ping":
				fmt.Fprintf(serverOut, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
				serverOut.Close()
			}
		}
	}()
	bad := make(chan string, 10)
	stream := mcpgo.Wrap(clientIn, clientOut, mcpgo.Options{Quiet: true, OnBadLine: func(m framing.Message) { bad <- string(m.Line) }})
	c := client.NewClient(transport.NewIO(stream, stream, io.NopCloser(strings.NewReader(""))))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = "2025-11-25"
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("Ping = %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if got := <-bad; got != noise {
		t.Errorf("OnBadLine(%q), want %q", got, noise)
	}
}

// TestClientOnRoughServers has servers with bad habits under mcp-go's client, over framing and without.
func TestClientOnRoughServers(t *testing.T) {
	connect := func(ctx context.Context, in io.Reader, out io.WriteCloser) int {
		c := client.NewClient(transport.NewIO(in, out, io.NopCloser(strings.NewReader(""))))
		if c.Start(ctx) != nil {
			return 0
		}
		defer c.Close()
		request := mcp.InitializeRequest{}
		request.Params.ProtocolVersion = "2025-11-25"
		if _, err := c.Initialize(ctx, request); err != nil {
			return 0
		}
		return rough.CountPings(func() error { return c.Ping(ctx) })
	}
	for _, h := range rough.Habits {
		t.Run("framing/"+h.Name, func(t *testing.T) {
			in, out := h.Start()
			stream := mcpgo.Wrap(in, out, mcpgo.Options{Quiet: true})
			if got := connect(t.Context(), stream, stream); got != h.Want {
				t.Errorf("%d answers came, want %d", got, h.Want)
			}
		})
		t.Run("stock/"+h.Name, func(t *testing.T) {
			ctx := t.Context()
			if h.LosesHandshake() {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second) // it would wait for ever
				defer cancel()
			}
			in, out := h.Start()
			if got := connect(ctx, in, out); got != h.MCPGo {
				t.Errorf("%d answers came, want %d", got, h.MCPGo)
			}
		})
	}
}
