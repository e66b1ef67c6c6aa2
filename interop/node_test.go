package interop_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
