package interop_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/stdio"
)

// TestMain lets the test binary be a server with a bad habit, for clients that start their server themselves.
func TestMain(m *testing.M) {
	if name := os.Getenv("INTEROP_HABIT"); name != "" {
		for _, h := range rough.Habits {
			if h.Name == name {
				h.Serve(os.Stdin, os.Stdout)
			}
		}
		return
	}
	os.Exit(m.Run())
}

func TestClientsOnRoughServers(t *testing.T) {
	for _, h := range rough.Habits {
		habit := "INTEROP_HABIT=" + h.Name
		t.Run("stdio/"+h.Name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), habit)
			c, err := stdio.Start(t.Context(), cmd, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Call(t.Context(), "initialize", nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := rough.CountPings(func() error { return c.Call(t.Context(), "ping", nil, nil) }); got != h.Want {
				t.Errorf("%d answers came, want %d", got, h.Want)
			}
		})
		for _, line := range []string{"v1", "v2"} {
			t.Run("TypeScript "+line+"/"+h.Name, func(t *testing.T) {
				t.Parallel()
				timeout := "60000"
				if h.LosesHandshake() {
					timeout = "1000" // it would wait for ever
				}
				cmd := nodeCommand(t, "node/pings.mjs", line, timeout, os.Args[0])
				cmd.Env = append(os.Environ(), habit)
				got := strings.TrimSpace(output(t, cmd))
				if h.TSCloses && got == "0" {
					return
				}
				if got != strconv.Itoa(h.TS) {
					t.Errorf("%s answers came, want %d", got, h.TS)
				}
			})
		}
	}
}

// TestStdioOnRoughInput has our own server on the input that the SDKs' servers get.
func TestStdioOnRoughInput(t *testing.T) {
	for _, c := range rough.Cases {
		t.Run(c.Name, func(t *testing.T) {
			answers := stdio.Methods{"ping": succeed, "initialize": succeed, "notifications/initialized": succeed}
			rough.NewPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
				if err := stdio.NewConn(in, out, answers.Handle, &stdio.Options{MaxLine: rough.MaxLine}).Run(t.Context()); err != nil {
					t.Errorf("Run = %v", err)
				}
			}).Run(t, c, c.Want)
		})
	}
}

func succeed(context.Context, *stdio.Request) (any, error) { return nil, nil }
