package interop_test

import (
	"context"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgosdk "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing/interop/gosdk"
	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/interop/mcpgo"
	"example.com/mcp/framing/stdio"
)

// TestMain lets the test binary be a server with a bad habit, or one of the Go SDKs', for clients that start their server themselves.
func TestMain(m *testing.M) {
	if name := os.Getenv("INTEROP_HABIT"); name != "" {
		for _, h := range rough.Habits {
			if h.Name == name {
				h.Serve(os.Stdin, os.Stdout)
			}
		}
		return
	}
	if run := goServers[os.Getenv("INTEROP_SERVER")]; run != nil {
		if err := run(); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// itself returns the command that runs the test binary with a variable set.
func itself(name, value string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), name+"="+value)
	return cmd
}

// clients connect to a server with a habit, send two pings at once and return how many are answered.
var clients = []struct {
	name  string
	pings func(t *testing.T, ctx context.Context, h rough.Habit) int
	want  func(rough.Habit) int
}{
	{"stdio", pingStdio, func(h rough.Habit) int { return h.Want }},
	{"go-sdk over framing", pingGoSDK(func(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
		return &gosdk.IOTransport{Reader: in, Writer: out, Options: gosdk.Options{Quiet: true}}
	}), func(h rough.Habit) int { return h.Want }},
	{"mcp-go over framing", pingMCPGo(func(in io.Reader, out io.WriteCloser) (io.Reader, io.WriteCloser) {
		stream := mcpgo.Wrap(in, out, mcpgo.Options{Quiet: true})
		return stream, stream
	}), func(h rough.Habit) int { return h.Want }},
	{"go-sdk", pingGoSDK(func(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
		return &mcp.IOTransport{Reader: in, Writer: out}
	}), func(h rough.Habit) int { return h.GoSDK }},
	{"mcp-go", pingMCPGo(func(in io.Reader, out io.WriteCloser) (io.Reader, io.WriteCloser) { return in, out }),
		func(h rough.Habit) int { return h.MCPGo }},
	{"TypeScript v1", pingNode("v1"), func(h rough.Habit) int { return h.TS }},
	{"TypeScript v2", pingNode("v2"), func(h rough.Habit) int { return h.TS }},
}

func pingStdio(t *testing.T, ctx context.Context, h rough.Habit) int {
	opts := &stdio.Options{Grace: time.Minute} // 24 MiB take their time under the race detector
	c, err := stdio.Start(ctx, itself("INTEROP_HABIT", h.Name), nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Call(ctx, "initialize", nil, nil); err != nil {
		t.Fatal(err)
	}
	return rough.CountPings(func() error { return c.Call(ctx, "ping", nil, nil) })
}

func pingGoSDK(transport func(io.ReadCloser, io.WriteCloser) mcp.Transport) func(*testing.T, context.Context, rough.Habit) int {
	return func(_ *testing.T, ctx context.Context, h rough.Habit) int {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, transport(h.Start()), nil)
		if err != nil {
			return 0
		}
		defer session.Close()
		return rough.CountPings(func() error { return session.Ping(ctx, nil) })
	}
}

func pingMCPGo(streams func(io.Reader, io.WriteCloser) (io.Reader, io.WriteCloser)) func(*testing.T, context.Context, rough.Habit) int {
	return func(_ *testing.T, ctx context.Context, h rough.Habit) int {
		in, out := h.Start()
		r, w := streams(in, out)
		c := client.NewClient(transport.NewIO(r, w, nil))
		if c.Start(ctx) != nil {
			return 0
		}
		defer c.Close()
		if _, err := c.Initialize(ctx, mcpgosdk.InitializeRequest{}); err != nil {
			return 0
		}
		return rough.CountPings(func() error { return c.Ping(ctx) })
	}
}

// pingNode runs node/pings.mjs.
func pingNode(line string) func(*testing.T, context.Context, rough.Habit) int {
	return func(t *testing.T, ctx context.Context, h rough.Habit) int {
		timeout := time.Minute
		if deadline, ok := ctx.Deadline(); ok {
			timeout = time.Until(deadline)
		}
		cmd := nodeCommand(t, "node/pings.mjs", line, strconv.Itoa(int(timeout.Milliseconds())), os.Args[0])
		cmd.Env = append(os.Environ(), "INTEROP_HABIT="+h.Name)
		n, err := strconv.Atoi(strings.TrimSpace(output(t, cmd)))
		if err != nil {
			t.Error(err)
		}
		return n
	}
}

// TestRoughServers has each client start a server with each habit.
func TestRoughServers(t *testing.T) {
	for _, c := range clients {
		for _, h := range rough.Habits {
			t.Run(c.name+"/"+h.Name, func(t *testing.T) {
				t.Parallel()
				ctx, want := t.Context(), c.want(h)
				if want == 0 && h.LosesHandshake() {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Second) // it would wait for ever
					defer cancel()
				}
				got := c.pings(t, ctx, h)
				t.Logf("%d of 2 answers came", got)
				if closes := h.TSCloses && strings.HasPrefix(c.name, "TypeScript"); got != want && !(closes && got == 0) {
					t.Errorf("%d answers came, want %d", got, want)
				}
			})
		}
	}
}
