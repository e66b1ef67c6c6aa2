package interop_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/gosdk"
)

// TestGoSDKOnServerThatPrints has the Go SDK's client start the server of TestServerThatPrints: with its own transport it gets no
// further than the first line.
func TestGoSDKOnServerThatPrints(t *testing.T) {
	var bad []string
	transports := map[string]func(*exec.Cmd) mcp.Transport{
		"framing": func(cmd *exec.Cmd) mcp.Transport {
			report := func(m framing.Message) { bad = append(bad, string(m.Line)) }
			return &gosdk.CommandTransport{Command: cmd, Options: gosdk.Options{OnBadLine: report}}
		},
		"stock": func(cmd *exec.Cmd) mcp.Transport { return &mcp.CommandTransport{Command: cmd} },
	}
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			cmd := nodeCommand(t, printingServer)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), transport(cmd), nil)
			if name == "stock" {
				if err == nil || !strings.Contains(err.Error(), "invalid character 'S'") {
					t.Errorf("Connect = %v, want an error at the first line", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) == 0 {
				t.Errorf("ListTools = %v, %v", tools, err)
			}
			if err := session.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			if len(bad) == 0 || bad[0] != "Starting server discovery process" {
				t.Errorf("bad lines = %q, want the server's log", bad)
			}
		})
	}
}
