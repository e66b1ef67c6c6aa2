//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// proc is mcptap as a process of its own, as a host starts it.
type proc struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	outEnd io.Closer
	stderr *bufio.Reader
}

func startTap(t *testing.T, steps []step, args ...string) *proc {
	t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "--", os.Args[0])...)
	cmd.Env = append(os.Environ(), envMain+"=1", envChild+"="+encodeScript(append(steps, step{})))
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return &proc{cmd, in, bufio.NewReader(out), out, bufio.NewReader(stderr)}
}

// line reads a line from r, which must come.
func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read %q, %v; want a line", s, err)
	}
	return s
}

// status drains what is left and returns the exit status.
func (p *proc) status() (status int, stderr string) {
	rest, _ := io.ReadAll(p.stderr)
	p.Wait()
	return p.ProcessState.ExitCode(), string(rest)
}

func TestSignalsGoThrough(t *testing.T) {
	// A signal that is ignored here, as under nohup or in a shell's background, would be ignored by all children too; one that
	// is handled here is theirs again.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(handled)
	for _, test := range []struct {
		sig  syscall.Signal
		want int
	}{{syscall.SIGTERM, 143}, {syscall.SIGINT, 130}, {syscall.SIGHUP, 129}} {
		p := startTap(t, []step{complain("up\n"), hang()})
		line(t, p.stderr)
		p.Process.Signal(test.sig)
		status, stderr := p.status()
		if status != test.want || !strings.Contains(stderr, "server ended: signal: ") {
			t.Errorf("%v: status %d, want %d; stderr:\n%s", test.sig, status, test.want, stderr)
		}
	}
}

func TestSummaryOnSignal(t *testing.T) {
	p := startTap(t, []step{read1(), write("hello\n{\"half")})
	io.WriteString(p.in, ping)
	line(t, p.out)
	p.out.Peek(6) // the half line has gone by
	p.Process.Signal(syscall.SIGUSR1)
	seen := ""
	for !strings.Contains(seen, "1. The server writes text on stdout") {
		seen += line(t, p.stderr)
	}
	if !strings.Contains(seen, "1 in flight:\n  ping (id 7), client line 1, for ") {
		t.Errorf("summary in mid-session:\n%s\nwant ping in flight", seen)
	}
	if text := "a line that has not ended yet: 6 bytes"; !strings.Contains(seen, text) {
		t.Errorf("summary in mid-session:\n%s\nwant %q in it", seen, text)
	}
	p.in.Close()
	if status, stderr := p.status(); status != 0 || !strings.Contains(stderr, "never answered") || strings.Contains(stderr, "not ended") {
		t.Errorf("status %d and at the end:\n%s\nwant 0 and a request never answered", status, stderr)
	}
}

// TestStubbornServer: with the host gone, a server that ignores EOF and
// SIGTERM is killed, and so is its child, which holds its stdout open.
func TestStubbornServer(t *testing.T) {
	p := startTap(t, []step{ignoring(), {"spawn", ""}, complain("up\n"), hang()}, "-grace", "50ms")
	line(t, p.stderr)
	p.in.Close()
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
		t.Errorf("stdout %q, %v; want its end, with the child gone", rest, err)
	}
	if status, stderr := p.status(); status != 137 {
		t.Errorf("status %d, want 137 (SIGKILL); stderr:\n%s", status, stderr)
	}
}

// TestHostStopsReading: the end of the host's reading ends the server.
func TestHostStopsReading(t *testing.T) {
	p := startTap(t, []step{read1(), write(answer("7")), {"flood", ""}}, "-grace", "50ms")
	io.WriteString(p.in, ping)
	line(t, p.out)
	p.outEnd.Close()
	if status, stderr := p.status(); status != 128+int(syscall.SIGPIPE) && status != 143 {
		t.Errorf("status %d, want that of SIGPIPE or SIGTERM; stderr:\n%s", status, stderr)
	}
}

// TestUnseen: what the observer could not see, since the disk with its log
// stood still, has gone through all the same, and is a finding.
func TestUnseen(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	disk, err := os.OpenFile(fifo, os.O_RDWR, 0) // opening to read alone would wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	line := note(strings.Repeat("x", 1000))
	sent := int64(queueBytes*5/4) / int64(len(line)) * int64(len(line))
	var passed counter
	done := make(chan struct{})
	passed.at(sent, func() {
		go func() { defer close(done); io.Copy(io.Discard, disk) }()
	})
	steps := []step{{"repeat", fmt.Sprintf("%d %s", sent/int64(len(line)), line)}}
	o := runTo(t, steps, strings.NewReader(""), &passed, func(c *config) { c.log = fifo })
	if passed.n != sent {
		t.Errorf("%d bytes went through, want %d", passed.n, sent)
	}
	s := o.summary.Streams[0]
	if s.Raw.Bytes != sent || s.UnseenBytes == 0 || s.Lines != int(sent)/len(line) || s.Messages["notification"]+s.UnseenLines != s.Lines {
		t.Errorf("summary %+v, want every byte and line, seen or unseen", s)
	}
	if got := o.found(); len(got) != 1 || !strings.HasPrefix(got[0], "unseen to-client 0 ") {
		t.Errorf("findings %q, want what was not seen", got)
	}
}

// TestHostKilled: with the server's stdin full the host's EOF cannot get
// through, and is noticed all the same.
func TestHostKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there it is noticed only when the server writes")
	}
	p := startTap(t, []step{complain("up\n"), hang()}, "-grace", "50ms")
	line(t, p.stderr)
	io.WriteString(p.in, strings.Repeat("x", 3<<16)) // the host's pipe, mcptap, and the server's pipe
	p.in.Close()
	if status, stderr := p.status(); status != 143 {
		t.Errorf("status %d, want 143; stderr:\n%s", status, stderr)
	}
}

// TestServerStopsReading: the host learns it as it would without mcptap.
func TestServerStopsReading(t *testing.T) {
	p := startTap(t, []step{closing("stdin"), write("closed\n"), hang()}, "-grace", "50ms")
	line(t, p.out)
	var err error
	for err == nil {
		_, err = io.WriteString(p.in, ping)
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing to a server that reads no more: %v, want %v", err, syscall.EPIPE)
	}
	p.Process.Signal(syscall.SIGTERM)
	p.status()
}

// TestServerClosesStdout: its EOF goes through while it lives on.
func TestServerClosesStdout(t *testing.T) {
	p := startTap(t, []step{write("last\n"), closing("stdout"), read1(), exit(5)})
	if all, err := io.ReadAll(p.out); string(all) != "last\n" || err != nil {
		t.Fatalf("stdout %q, %v; want one line and EOF", all, err)
	}
	io.WriteString(p.in, ping)
	if status, _ := p.status(); status != 5 {
		t.Errorf("status %d, want 5", status)
	}
}

// TestRecordsArePrivate: whatever the umask, nobody else reads them.
func TestRecordsArePrivate(t *testing.T) {
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0))
	log, capture := filepath.Join(dir, "log"), filepath.Join(dir, "capture")
	p := startTap(t, []step{echo(pong)}, "-log", log, "-capture", capture)
	p.in.Close()
	p.status()
	for _, name := range []string{log, capture + "/reads.ndjson", capture + "/to-server.ndjson", capture + "/to-client.ndjson"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", name, info.Mode(), err)
		}
	}
}

// TestFullDisk: records that cannot be written do not touch the session, and
// it is said that they are incomplete.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	p := startTap(t, []step{echo(pong)}, "-log", "/dev/full")
	io.WriteString(p.in, ping)
	if got := line(t, p.out); got != answer("7") {
		t.Errorf("the client got %q, want %q", got, answer("7"))
	}
	p.in.Close()
	if status, stderr := p.status(); status != 0 || !strings.Contains(stderr, "mcptap: -log is incomplete: ") {
		t.Errorf("status %d, stderr:\n%s\nwant 0 and that the log is incomplete", status, stderr)
	}
}
