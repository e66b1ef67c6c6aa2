package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/gosdk"
	"example.com/mcp/framing/interop/internal/rough"
)

type echoArgs struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, args echoArgs) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: args.Text}}}, nil, nil
}

func newEchoServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	return server
}

// callEcho has s echo each of the texts n times, all at once.
func callEcho(t *testing.T, s *mcp.ClientSession, n int) {
	t.Helper()
	rough.CheckEcho(t, n, func(text string) (string, error) {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{text}})
		if err != nil {
			return "", err
		}
		return r.Content[0].(*mcp.TextContent).Text, nil
	})
}

// TestNoiseBothWays has the SDK's client and server, with noise before each line of either.
func TestNoiseBothWays(t *testing.T) {
	clientIn, clientOut, serverIn, serverOut := rough.NoisyPipes()

	const rounds = 3
	var atClient, atServer rough.BadLines
	served := make(chan error, 1)
	go func() {
		served <- newEchoServer().Run(context.Background(), &gosdk.IOTransport{Reader: serverIn, Writer: serverOut,
			Options: gosdk.Options{OnBadLine: atServer.Add}})
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.IOTransport{Reader: clientIn, Writer: clientOut, Options: gosdk.Options{Quiet: true, OnBadLine: atClient.Add}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	callEcho(t, session, rounds)
	if err := session.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server's Run = %v", err)
	}
	atClient.Check(t, rounds*len(rough.Texts), rough.Noise...)
	atServer.Check(t, rounds*len(rough.Texts), rough.Noise...)
}

// ask tells its progress and has its client say something: both times the text it got.
func ask(ctx context.Context, req *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: in.Text}); err != nil {
		return nil, nil, err
	}
	r, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Text}}}})
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{r.Content}}, nil, nil
}

// connect has client and server talk to each other.
func connect(t *testing.T, client *mcp.Client, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.Background(), &gosdk.IOTransport{Reader: serverIn, Writer: serverOut})
	}()
	session, err := client.Connect(t.Context(), &gosdk.IOTransport{Reader: clientIn, Writer: clientOut, Options: gosdk.Options{Quiet: true}},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}) // later ones have no requests from the server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the server's Run = %v", err)
		}
	})
	return session
}

func TestServerAsksAndTells(t *testing.T) {
	progress := make(chan string, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: req.Params.Messages[0].Content}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Message },
	})
	server := newEchoServer()
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, ask)
	session := connect(t, client, server)
	for name, text := range rough.Texts {
		params := &mcp.CallToolParams{Name: "ask", Arguments: echoArgs{text}}
		params.SetProgressToken(name)
		r, err := session.CallTool(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Content[0].(*mcp.TextContent).Text; got != text {
			t.Errorf("asked for %s: %.20q, want %.20q", name, got, text)
		}
		if got := <-progress; got != text {
			t.Errorf("progress of %s: %.20q, want %.20q", name, got, text)
		}
	}
}

func TestCancellation(t *testing.T) {
	started, cancelled := make(chan struct{}), make(chan error, 1)
	server := newEchoServer()
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		close(started)
		<-ctx.Done()
		cancelled <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	session := connect(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), server)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call = %v, want context.Canceled", err)
	}
	if err := <-cancelled; err != context.Canceled {
		t.Errorf("the tool's context = %v, want context.Canceled", err)
	}
	callEcho(t, session, 1)
}

// servers are what the test binary can be for the tests below.
var servers = map[string]func(){
	"quiet": serveEcho,
	"noisy": func() { fmt.Println("Listening on stdio ..."); serveEcho() },
	"deaf":  stayAlive,
	"deaf to SIGTERM": func() {
		signal.Ignore(syscall.SIGTERM)
		stayAlive()
	},
	"leaves a child": startChild,
	"keeps a child": func() {
		signal.Ignore(syscall.SIGTERM)
		startChild()
		time.Sleep(time.Hour)
	},
}

func TestMain(m *testing.M) {
	if serve := servers[os.Getenv("GOSDK_TEST_SERVER")]; serve != nil {
		serve()
		return
	}
	os.Exit(m.Run())
}

func serveEcho() {
	transport := &gosdk.StdioTransport{}
	transport.OnBadLine = func(m framing.Message) { fmt.Fprintf(os.Stderr, "bad line: %s\n", m.Line) }
	if err := newEchoServer().Run(context.Background(), transport); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stayAlive tells who will not go by itself. (Without cgo the runtime would take select {} for a deadlock.)
func stayAlive() {
	fmt.Println(os.Getpid())
	time.Sleep(time.Hour)
}

// startChild starts a process that holds our stdout and stderr.
func startChild() {
	child := serverCommand("deaf to SIGTERM")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		panic(err)
	}
}

func serverCommand(kind string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOSDK_TEST_SERVER="+kind, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func TestCommandTransport(t *testing.T) {
	var bad rough.BadLines
	cmd := serverCommand("noisy")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.CommandTransport{Command: cmd, Options: gosdk.Options{OnBadLine: bad.Add}}, nil)
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
	bad.Check(t, 1, "Listening on stdio ...")
}

// TestStockCommandTransport shows what TestCommandTransport improves on.
func TestStockCommandTransport(t *testing.T) {
	_, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: serverCommand("noisy")}, nil)
	if err == nil || !strings.Contains(err.Error(), "invalid character 'L'") {
		t.Errorf("Connect over the SDK's transport = %v, want an error at the banner", err)
	}
}

// TestCommandThatDoesNotEnd has servers that ignore the end of their input, and whose child holds their stderr.
func TestCommandThatDoesNotEnd(t *testing.T) {
	for kind, want := range map[string]string{
		"deaf":            "signal: terminated",
		"deaf to SIGTERM": "signal: killed",
		"leaves a child":  exec.ErrWaitDelay.Error(),
		"keeps a child":   "signal: killed",
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
