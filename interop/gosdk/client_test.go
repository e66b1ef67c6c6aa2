package gosdk_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
	case "deaf", "deaf to SIGTERM":
		if os.Getenv("GOSDK_TEST_SERVER") != "deaf" {
			signal.Ignore(syscall.SIGTERM)
		}
		fmt.Println(os.Getpid())
		select {}
	case "leaves a child":
		child := serverCommand("deaf to SIGTERM")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		return
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
	cmd.Env = append(os.Environ(), "GOSDK_TEST_SERVER="+kind, "GORACE=atexit_sleep_ms=0")
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

// TestCommandThatDoesNotEnd has servers that ignore the end of their input, and one whose child holds its stderr.
func TestCommandThatDoesNotEnd(t *testing.T) {
	for kind, want := range map[string]string{
		"deaf":            "signal: terminated",
		"deaf to SIGTERM": "signal: killed",
		"leaves a child":  exec.ErrWaitDelay.Error(),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := serverCommand(kind)
			cmd.Stderr = new(strings.Builder) // Wait waits for what the child holds
			pid := make(chan string, 1)
			transport := &gosdk.CommandTransport{Command: cmd, TerminateDuration: time.Second}
			transport.OnBadLine = func(m framing.Message) { pid <- string(m.Line) }
			conn, err := transport.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if id, _ := strconv.Atoi(<-pid); id != cmd.Process.Pid {
				t.Cleanup(func() {
					if child, err := os.FindProcess(id); err == nil {
						child.Kill()
					}
				})
			}
			closed := make(chan error, 2)
			for range 2 {
				go func() { closed <- conn.Close() }()
			}
			for range 2 {
				select {
				case err := <-closed:
					if got := fmt.Sprint(err); got != want && runtime.GOOS != "windows" {
						t.Errorf("Close = %s, want %s", got, want)
					}
				case <-time.After(time.Minute):
					t.Fatal("Close hangs")
				}
			}
		})
	}
}

// TestReadEnds has a Read wait on an input that never comes, as stdin may, and cannot be interrupted.
func TestReadEnds(t *testing.T) {
	in, _ := io.Pipe()
	transport := &gosdk.IOTransport{Reader: struct {
		io.Reader
		io.Closer
	}{in, io.NopCloser(nil)}, Writer: nopCloser{io.Discard}}
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
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

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestReadAfterTheEnd reads when there is something else to return than the end: a message that waits, and the error of the
// stream that Close has closed. Which of two ready channels a select takes is random, hence the rounds.
func TestReadAfterTheEnd(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			conn, err := (&gosdk.IOTransport{Reader: in, Writer: nopCloser{io.Discard}}).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(out, `{"jsonrpc":"2.0","method":"m"}`+"\n")
			synctest.Wait() // it waits to be read
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if m, err := conn.Read(ctx); err != context.Canceled {
				t.Errorf("Read with a cancelled context = %v, %v", m, err)
			}
			if m, err := conn.Read(t.Context()); err != nil {
				t.Errorf("Read after it = %v, %v, want the message", m, err)
			}
			conn.Close()
			synctest.Wait() // the reading has failed
			if m, err := conn.Read(t.Context()); err != io.EOF {
				t.Errorf("Read of a closed connection = %v, %v, want io.EOF", m, err)
			}
		})
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
