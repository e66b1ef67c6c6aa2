package interop_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/mcp/framing/interop/internal/rough"
)

// nodeCommand returns the command that runs script, a file in this folder, on args. Without Node.js or the pinned packages the
// test is skipped, or fails if INTEROP_NODE=required, as where the packages have just been installed.
func nodeCommand(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("INTEROP_NODE") == "required" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("no Node.js: %v", err)
	}
	if _, err := os.Stat("node_modules/.package-lock.json"); err != nil {
		missing("the pinned npm packages are not installed (run ./install.sh): %v", err)
	}
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(node, append([]string{path}, args...)...)
}

// TestTypeScriptServersOnRoughInput shows what the TypeScript SDK's servers do with the input that ours outlive.
func TestTypeScriptServersOnRoughInput(t *testing.T) {
	for _, line := range []string{"v1", "v2"} {
		for _, c := range rough.Cases {
			t.Run(line+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				rough.NewPeer(t, serveCommand(t, nodeCommand(t, "node/server.mjs", line))).Run(t, c, c.TS)
			})
		}
	}
}

// serveCommand returns what runs cmd as the server of a rough.Peer.
func serveCommand(t *testing.T, cmd *exec.Cmd) func(in io.ReadCloser, out io.WriteCloser) {
	return func(in io.ReadCloser, out io.WriteCloser) {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Error(err)
			return
		}
		cmd.Stdout, cmd.Stderr = out, nil
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
}

// output runs cmd and returns what it prints.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v\n%s%s", cmd.Args, err, &stdout, &stderr)
	}
	return stdout.String()
}

// TestTypeScriptServersAfterEndOfInput shows what becomes of a request in hand when the input ends.
func TestTypeScriptServersAfterEndOfInput(t *testing.T) {
	for line, want := range map[string]string{"v1": "result 1", "v2": rough.Ended} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			peer := rough.NewPeer(t, serveCommand(t, nodeCommand(t, "node/server.mjs", line)))
			peer.Send(rough.Handshake)
			if got := peer.Answer(); got != `result "init"` {
				t.Fatalf("first answer = %s", got)
			}
			peer.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}` + "\n")
			peer.CloseInput()
			if got := peer.Answer(); got != want {
				t.Errorf("answer after the end of input = %s, want %s", got, want)
			}
		})
	}
}
