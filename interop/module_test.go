package interop_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// goCommand runs the go command in dir, where it may download nothing, and returns what it prints.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// build builds the program in folder, from the root of the project.
func build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(folder))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	goCommand(t, "..", "build", "-o", program, folder)
	return program
}

// firstSample returns the first Go sample of the README.
func firstSample(t *testing.T) []byte {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n```go\n(.*?\n)```").FindSubmatch(readme)
	if m == nil {
		t.Fatal("README.md has no ```go sample")
	}
	return m[1]
}

// TestReadmeSampleInEmptyModule does what somebody new does: an empty module, our module, the first sample.
func TestReadmeSampleInEmptyModule(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	goCommand(t, dir, "mod", "init", "example.org/empty")
	goCommand(t, dir, "mod", "edit", "-require=example.com/mcp/framing@v0.0.0", "-replace=example.com/mcp/framing="+root)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), firstSample(t), 0o666); err != nil {
		t.Fatal(err)
	}
	goCommand(t, dir, "mod", "tidy")
	goCommand(t, dir, "vet", "./...")
	program := filepath.Join(dir, "sample.exe")
	goCommand(t, dir, "build", "-o", program)
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader("Server started\n" + `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}` + "\n")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("the sample: %v\n%s", err, &stderr)
	}
	if !strings.Contains(out.String(), "9007199254740993") {
		t.Errorf("the sample printed %q, %q to a bad line and a ping, want the ping's id in it", &out, &stderr)
	}
	if sum, err := os.ReadFile(filepath.Join(dir, "go.sum")); err == nil {
		t.Errorf("our module brings others: %s", sum)
	}
}

// TestModuleOfAdaptersCopied does what README.md says of gosdk and mcpgo.
func TestModuleOfAdaptersCopied(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum", "gosdk/gosdk.go", "gosdk/command.go", "mcpgo/mcpgo.go",
		"internal/link/link.go", "internal/link/answer.go", "internal/link/id.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("example.com/mcp/framing/interop"), []byte("example.org/copy"))
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	goCommand(t, dir, "mod", "edit", "-replace=example.com/mcp/framing="+root)
	goCommand(t, dir, "vet", "./...")
}

func TestModuleHasNoRequirements(t *testing.T) {
	if diff := goCommand(t, "..", "mod", "tidy", "-diff"); diff != "" {
		t.Errorf("go mod tidy changes go.mod or go.sum:\n%s", diff)
	}
	if got := strings.TrimSpace(goCommand(t, "..", "list", "-m", "all")); got != "example.com/mcp/framing" {
		t.Errorf("modules in the build: %q, want ours alone", got)
	}
	if _, err := os.Stat("../go.sum"); err == nil {
		t.Error("there is a go.sum: somebody required something")
	}
}
