//go:build unix

package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// runChild feeds in to a child and returns what it writes.
func runChild(t *testing.T, name, in string) (stdout, stderr string) {
	t.Helper()
	cmd := child(t, name)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String(), errs.String()
}

func TestServe(t *testing.T) {
	out, errs := runChild(t, "serve", ping(1)+"\nnot json\n"+ping(2))
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	wantSame(t, codes(lines[:len(lines)-1]), []string{"1", "null:-32700", "2"})
	if last := lines[len(lines)-1]; last != "after <nil>" || errs != "" {
		t.Errorf("after Serve stdout has %q, stderr %q, want %q, nothing", last, errs, "after <nil>")
	}
}

func TestServeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte(ping(1)+"\n"+ping(2)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := child(t, "serve")
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	wantSame(t, codes(lines[:2]), []string{"1", "2"})
}

// Stdin keeps its mode if it is stdout too, as under inetd, or else prints to it would fail when it is full.
func TestServeSocket(t *testing.T) {
	swapStd(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dup2(pair[0], 0), dup2(pair[0], 1)); err != nil {
		t.Fatal(err)
	}
	syscall.Close(pair[0])
	s, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	if s.blocking {
		t.Error("a socket that is stdin and stdout was made non-blocking")
	}
	s.restore(nil)
	run := make(chan error, 1)
	go func() { run <- Serve(t.Context(), testMethods.Handle, nil) }()
	syscall.Write(pair[1], []byte(ping(1)+"\n"))
	buf := make([]byte, 1000)
	if n, err := syscall.Read(pair[1], buf); string(buf[:max(n, 0)]) != pong(1)+"\n" {
		t.Errorf("read %q, %v, want %s", buf[:max(n, 0)], err, pong(1))
	}
	syscall.Close(pair[1])
	if err := <-run; err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
}

// Whatever is printed while Serve runs is on stderr, from whomever.
func TestServeClaimsStdout(t *testing.T) {
	out, errs := runChild(t, "prints", ping(1)+"\n")
	if want := pong(1) + "\nrestored\nstdin has \"\"\n"; out != want {
		t.Errorf("stdout is\n%s\nwant\n%s", out, want)
	}
	for _, from := range []string{"fmt", "log", "print", "os.Stdout", "descriptor 1", "a grandchild"} {
		if !strings.Contains(errs, "from "+from+"\n") {
			t.Errorf("stderr has nothing from %s:\n%s", from, errs)
		}
	}
	if !strings.Contains(errs, "its stdin is empty") {
		t.Errorf("the grandchild has read from our stdin:\n%s", errs)
	}
}

func TestServeTwice(t *testing.T) {
	out, _ := runChild(t, "twice", ping(1)+"\n")
	if want := `{"jsonrpc":"2.0","id":1,"result":"stdio: Serve is already running in this process"}` + "\n"; out != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

// A Serve that its context has ended lets go of stdin: the next line is for whoever reads then.
func TestServeStopped(t *testing.T) {
	cmd := child(t, "stopped")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	io.WriteString(stdin, ping(1)+"\n")
	buf := make([]byte, 1000)
	var out string
	for !strings.Contains(out, "ended: context canceled\n") {
		n, err := stdout.Read(buf)
		if out += string(buf[:n]); err != nil {
			t.Fatalf("%v after %q", err, out)
		}
	}
	io.WriteString(stdin, "hello\n")
	rest, _ := io.ReadAll(stdout)
	if want := "next: \"hello\\n\"\n"; string(rest) != want {
		t.Errorf("got %q, want %q", rest, want)
	}
}

// The client closes its end of stdout while the server answers, and of stderr too.
func TestServeEPIPE(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result")
	cmd := child(t, "widowed")
	cmd.Env = append(cmd.Env, "STDIO_TEST_FILE="+file)
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	stderr, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	stderr.Close()
	io.WriteString(stdin, ping(1)+"\n"+ping(2)+"\n")
	if err := cmd.Wait(); err != nil { // with stdin still open
		t.Fatalf("the server ended with %v, want nil", err)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(got), "broken pipe") {
		t.Errorf("Serve returned %q (%v), want broken pipe", got, err)
	}
}

// swapStd puts pipes into descriptors 0 and 1 and returns their other ends.
func swapStd(t *testing.T) (in, out *os.File) {
	keep0, err0 := dup(0)
	keep1, err1 := dup(1)
	r0, w0, err2 := os.Pipe()
	r1, w1, err3 := os.Pipe()
	if err := errors.Join(err0, err1, err2, err3, dup2(int(r0.Fd()), 0), dup2(int(w1.Fd()), 1)); err != nil {
		t.Fatal(err)
	}
	r0.Close()
	w1.Close()
	t.Cleanup(func() {
		if err := errors.Join(dup2(keep0, 0), dup2(keep1, 1)); err != nil {
			t.Fatal(err)
		}
		syscall.Close(keep0)
		syscall.Close(keep1)
		w0.Close()
		r1.Close()
	})
	return w0, r1
}

// untilReader waits until a goroutine is blocked in reading stdin for a connection, or until none is.
func untilReader(t *testing.T, want bool) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for range 10_000 {
		blocked := false
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			state, _, _ := strings.Cut(stack, "\n")
			blocked = blocked || strings.Contains(stack, "(*input).Read") && (strings.Contains(state, "IO wait") || strings.Contains(state, "syscall"))
		}
		if blocked == want {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("a goroutine blocked in Read: %v, want %v", !want, want)
}

func TestServeInProcess(t *testing.T) {
	in, out := swapStd(t)
	ctx, stop := context.WithCancel(t.Context())
	run := make(chan error, 1)
	go func() { run <- Serve(ctx, testMethods.Handle, nil) }()
	io.WriteString(in, ping(1)+"\n")
	buf := make([]byte, 1000)
	if n, err := out.Read(buf); string(buf[:n]) != pong(1)+"\n" {
		t.Errorf("read %q, %v, want %s", buf[:n], err, pong(1))
	}
	if n, err := syscall.Read(0, buf); n != 0 || err != nil {
		t.Errorf("reading descriptor 0 meanwhile: %d, %v, want the end of file", n, err)
	}
	untilReader(t, true)
	stop()
	if err := <-run; err != context.Canceled {
		t.Errorf("Serve() = %v, want %v", err, context.Canceled)
	}
	untilReader(t, false)
	if flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, 0, syscall.F_GETFL, 0); flags&syscall.O_NONBLOCK != 0 {
		t.Error("descriptor 0 does not block any more")
	}
	syscall.Write(1, []byte("mine"))
	if n, err := out.Read(buf); string(buf[:n]) != "mine" {
		t.Errorf("read %q, %v, want mine: descriptor 1 was not put back", buf[:n], err)
	}
	io.WriteString(in, "yours")
	if n, err := syscall.Read(0, buf); string(buf[:max(n, 0)]) != "yours" {
		t.Errorf("read %q, %v, want yours: descriptor 0 was not put back, or reads do not block", buf[:max(n, 0)], err)
	}
}

func TestServeWithoutStdin(t *testing.T) {
	swapStd(t)
	syscall.Close(0)
	if err := Serve(t.Context(), nil, nil); err == nil {
		t.Error("Serve() = nil without a stdin, want an error")
	}
	if err := Serve(t.Context(), nil, nil); err == nil || strings.Contains(err.Error(), "already") {
		t.Errorf("Serve() = %v, want the same again", err)
	}
}
