package gosdk_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing/interop/gosdk"
	"example.com/mcp/framing/interop/internal/rough"
)

// transports are ours and the SDK's own, over the same streams.
var transports = map[string]func(in io.ReadCloser, out io.WriteCloser) mcp.Transport{
	"framing": func(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
		return &gosdk.IOTransport{Reader: in, Writer: out, Options: gosdk.Options{MaxLine: rough.MaxLine}}
	},
	"stock": func(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
		return &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: rough.MaxLine}
	},
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "rough", Version: "1"}, nil)
}

func TestServerOutlivesRoughInput(t *testing.T) {
	for name, transport := range transports {
		for _, c := range rough.Cases {
			want := c.Want
			if name == "stock" {
				want = c.GoSDK
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
					newServer().Run(context.Background(), transport(in, out))
				}).Run(t, c, want)
			})
		}
	}
}

// TestAnswersAfterEndOfInput has a client that sends its requests, closes, and reads: a shell's `server <requests`.
func TestAnswersAfterEndOfInput(t *testing.T) {
	for name, want := range map[string]string{"framing": "result 1", "stock": rough.Ended} {
		t.Run(name, func(t *testing.T) {
			finish := make(chan struct{})
			server := newServer()
			mcp.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				select {
				case <-finish:
				case <-ctx.Done(): // the stock transport gets here, and what is returned is not sent
				}
				return &mcp.CallToolResult{}, nil, nil
			})
			ended := &eofSignal{seen: make(chan struct{})}
			peer := rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
				ended.ReadCloser = in
				server.Run(context.Background(), transports[name](ended, out))
			})
			go peer.Send(rough.Handshake)
			if got := peer.Answer(); got != `result "init"` {
				t.Fatalf("first answer = %s", got)
			}
			go func() {
				peer.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}` + "\n")
				peer.CloseInput()
				<-ended.seen
				if name == "framing" {
					close(finish)
				}
			}()
			if got := peer.Answer(); got != want {
				t.Errorf("answer after the end of input = %s, want %s", got, want)
			}
		})
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
