package gosdk_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/gosdk"
	"example.com/mcp/framing/interop/internal/rough"
)

// noise is what a server's libraries print between its messages.
var noise = []string{"Server started", "", "{", "[1,2]", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, "\ufeff{}", "Content-Length: 2"}

// noisy copies lines from r to w, with the noise before each.
func noisy(r io.Reader, w io.Writer) {
	for br := bufio.NewReader(r); ; {
		line, err := br.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprintf(w, "%s\n%s", strings.Join(noise, "\n"), line)
	}
}

type echoArgs struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, args echoArgs) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: args.Text}}}, nil, nil
}

func newEchoServer() *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	return server
}

// texts are strings that line-based peers get wrong.
var texts = []string{"", "a\nb\r\nc", "\u2028\u2029\u0085", "\x00\x1f", "日本語 👩‍🚀", `</script>&<>"\`, strings.Repeat("long ", 30_000)}

// callEcho has s echo each of the texts n times, all at once.
func callEcho(t *testing.T, s *mcp.ClientSession, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n * len(texts) {
		wg.Go(func() {
			text := texts[i%len(texts)]
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{text}})
			if err != nil {
				t.Errorf("echo(%.20q): %v", text, err)
			} else if got := r.Content[0].(*mcp.TextContent).Text; got != text {
				t.Errorf("echo(%.20q) = %.20q", text, got)
			}
		})
	}
	wg.Wait()
}

// counter is an OnBadLine.
type counter struct {
	mu    sync.Mutex
	lines map[string]int
}

func (c *counter) add(m framing.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines == nil {
		c.lines = map[string]int{}
	}
	c.lines[string(m.Line)]++
}

func TestNoiseBothWays(t *testing.T) {
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	noisyIn, noisyClientW := io.Pipe()
	noisyServerIn, noisyServerW := io.Pipe()
	go func() { noisy(clientIn, noisyClientW); noisyClientW.Close() }()
	go func() { noisy(serverIn, noisyServerW); noisyServerW.Close() }()

	const calls = 10
	var bad, badAtServer counter
	served := make(chan error, 1)
	go func() {
		served <- newEchoServer().Run(context.Background(), &gosdk.IOTransport{Reader: noisyServerIn, Writer: serverOut,
			Options: gosdk.Options{OnBadLine: badAtServer.add}})
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.IOTransport{Reader: noisyIn, Writer: clientOut, Options: gosdk.Options{Quiet: true, OnBadLine: bad.add}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	callEcho(t, session, calls)
	if err := session.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server's Run = %v", err)
	}
	for _, line := range noise {
		if line != "" && (bad.lines[line] < calls*len(texts) || badAtServer.lines[line] < calls*len(texts)) {
			t.Errorf("OnBadLine(%q) called %d times by the client, %d by the server, want once a message", line, bad.lines[line], badAtServer.lines[line])
		}
	}
}

// TestMain lets the test binary be the server of the tests below.
func TestMain(m *testing.M) {
	switch os.Getenv("GOSDK_TEST_SERVER") {
	case "":
		os.Exit(m.Run())
	case "noisy":
		fmt.Println("Listening on stdio ...")
	}
	transport := &gosdk.StdioTransport{}
	transport.OnBadLine = func(m framing.Message) { fmt.Fprintf(os.Stderr, "bad line: %s\n", m.Line) }
	if err := newEchoServer().Run(context.Background(), transport); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serverCommand(kind string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOSDK_TEST_SERVER="+kind)
	return cmd
}

func TestCommandTransport(t *testing.T) {
	var bad counter
	cmd := serverCommand("noisy")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.CommandTransport{Command: cmd, Options: gosdk.Options{OnBadLine: bad.add}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	callEcho(t, session, 2)
	if err := session.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if !cmd.ProcessState.Success() {
		t.Errorf("server: %v", cmd.ProcessState)
	}
	if stderr.Len() > 0 {
		t.Errorf("the server complains of what the client wrote: %s", stderr.String())
	}
	if bad.lines["Listening on stdio ..."] != 1 || len(bad.lines) != 1 {
		t.Errorf("bad lines = %v, want the banner once", bad.lines)
	}
}

// TestStockCommandTransport shows what TestCommandTransport improves on.
func TestStockCommandTransport(t *testing.T) {
	_, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: serverCommand("noisy")}, nil)
	if err == nil || !strings.Contains(err.Error(), "invalid character 'L'") {
		t.Errorf("Connect over the SDK's transport = %v, want an error at the banner", err)
	}
}

// TestReadEnds has a Read wait on an input that never comes, as stdin may, and cannot be interrupted.
func TestReadEnds(t *testing.T) {
	in, _ := io.Pipe()
	transport := &gosdk.IOTransport{Reader: struct {
		io.Reader
		io.Closer
	}{in, io.NopCloser(nil)}, Writer: struct {
		io.Writer
		io.Closer
	}{io.Discard, io.NopCloser(nil)}}
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Read(ctx); err != context.Canceled {
		t.Errorf("Read with a cancelled context = %v", err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(t.Context())
		read <- err
	}()
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if err := <-read; err != io.EOF {
		t.Errorf("Read of a closed connection = %v, want io.EOF", err)
	}
}

// TestClientOnRoughServers has servers with bad habits under the SDK's client, over framing and over its own transport.
func TestClientOnRoughServers(t *testing.T) {
	connect := func(ctx context.Context, transport mcp.Transport) int {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, transport, nil)
		if err != nil {
			return 0
		}
		defer session.Close()
		return rough.CountPings(func() error { return session.Ping(ctx, nil) })
	}
	for _, h := range rough.Habits {
		t.Run("framing/"+h.Name, func(t *testing.T) {
			in, out := h.Start()
			if got := connect(t.Context(), &gosdk.IOTransport{Reader: in, Writer: out, Options: gosdk.Options{Quiet: true}}); got != h.Want {
				t.Errorf("%d answers came, want %d", got, h.Want)
			}
		})
		t.Run("stock/"+h.Name, func(t *testing.T) {
			in, out := h.Start()
			if got := connect(t.Context(), &mcp.IOTransport{Reader: in, Writer: out}); got != h.GoSDK {
				t.Errorf("%d answers came, want %d", got, h.GoSDK)
			}
		})
	}
}
