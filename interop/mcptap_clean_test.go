package interop_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing/interop/internal/rough"
)

// TestGoSDKOverMcptapClean has the Go SDK's own client and transport start servers with bad habits, by themselves and behind
// mcptap -clean: what kills the client is taken out and arrives on stderr, marked; what is left as it is does no further harm.
func TestGoSDKOverMcptapClean(t *testing.T) {
	tap := build(t, "./cmd/mcptap")
	cleaned := map[string]int{ // pings of two that are answered, where that is another number than without mcptap
		"prints a log line":               2,
		"begins with a BOM":               2,
		"breaks an answer over two lines": 1, // two lines that are no messages
	}
	marks := map[string]string{
		"prints a log line": "mcptap: not a message, stdout line 3: Server listening on port 3000\n",
		"begins with a BOM": "mcptap: not a message, stdout line 1: (a byte order mark)\n",
	}
	for _, h := range rough.Habits {
		if h.Name == "answers with 24 MiB" {
			continue // beyond the limit of the SDK, which then takes its time to close
		}
		want, ok := cleaned[h.Name]
		if !ok {
			want = h.GoSDK
		}
		for _, tt := range []struct {
			name    string
			command []string
			want    int
			mark    string
		}{
			{"alone", []string{os.Args[0]}, h.GoSDK, ""},
			{"clean", []string{tap, "-clean", "--", os.Args[0]}, want, marks[h.Name]},
		} {
			t.Run(h.Name+"/"+tt.name, func(t *testing.T) {
				cmd := exec.Command(tt.command[0], tt.command[1:]...)
				cmd.Env = append(os.Environ(), "INTEROP_HABIT="+h.Name)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if got := goSDKPings(t, cmd); got != tt.want {
					t.Errorf("%d pings answered, want %d", got, tt.want)
				}
				if !strings.Contains(stderr.String(), tt.mark) {
					t.Errorf("stderr:\n%s\nwant %q in it", stderr.String(), tt.mark)
				}
			})
		}
	}
	for name := range cleaned {
		if !slices.ContainsFunc(rough.Habits, func(h rough.Habit) bool { return h.Name == name }) {
			t.Errorf("no server %s", name)
		}
	}
}

// goSDKPings returns how many of two pings a session of the Go SDK's client sees answered: none if there is no session.
func goSDKPings(t *testing.T, cmd *exec.Cmd) int {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return 0
	}
	defer session.Close()
	return rough.CountPings(func() error { return session.Ping(t.Context(), nil) })
}
