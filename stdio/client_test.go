//go:build unix

package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/mcp/framing"
)

// start starts a child as server. The test has to close it; that no goroutine is left then is checked.
func start(t *testing.T, name string, h Handler, opts *Options) *Client {
	t.Helper()
	before := runtime.NumGoroutine()
	c, err := Start(t.Context(), child(t, name), h, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if c.cmd.ProcessState == nil {
			t.Error("the process has not been waited for: a zombie")
		}
		wantGoroutines(t, before)
	})
	return c
}

// wantGoroutines wants no more than n goroutines. Those that have done all they do may still be on their way out.
func wantGoroutines(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= n {
			return
		}
		runtime.Gosched()
		runtime.GC() // which stops them all, and so lets them run
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
}

func mustCall(t *testing.T, c *Client) {
	t.Helper()
	if err := c.Call(t.Context(), "ping", nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestClient(t *testing.T) {
	c := start(t, "serve", nil, nil)
	var got []string
	if err := c.Call(t.Context(), "echo", []string{"a", "b"}, &got); err != nil || len(got) != 2 {
		t.Errorf("Call() = %v with %q, want two strings", err, got)
	}
	if err := c.Call(t.Context(), "nope", nil, nil); !errors.Is(err, ErrMethodNotFound) {
		t.Errorf("Call() = %v, want %v", err, ErrMethodNotFound)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if err := c.Call(t.Context(), "ping", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call() = %v after Close, want %v", err, ErrClosed)
	}
	if err := c.Notify(t.Context(), "ping", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Notify() = %v after Close, want %v", err, ErrClosed)
	}
	if err := c.Run(t.Context()); err == nil {
		t.Error("Run() = nil on a running client, want an error")
	}
}

// The server's text is reported, not answered, and stops nothing.
func TestClientTalkOnStdout(t *testing.T) {
	var bad []string
	c := start(t, "banner", nil, &Options{OnBadLine: func(m framing.Message) { bad = append(bad, string(m.Line)) }})
	mustCall(t, c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	want := []string{"Starting the server", "listening on stdio", `{"not": "for you"}`, "after <nil>"}[:3]
	if strings.Join(bad, "|") != strings.Join(want, "|") {
		t.Errorf("OnBadLine got %q, want %q", bad, want)
	}
	if s := c.Stats(); s.Syntax != 2 || s.In.Kinds[framing.Invalid] != 1 || s.Answered != 0 {
		t.Errorf("Stats() = %+v, want 2 no JSON, 1 Invalid, none answered", s)
	}
}

func TestClientStderrFlood(t *testing.T) {
	t.Run("kept for errors", func(t *testing.T) {
		mustCall(t, start(t, "chatty", nil, nil)) // it writes 4 MiB before it reads
	})
	t.Run("passed on", func(t *testing.T) {
		var errs syncBuffer
		c := start(t, "chatty", nil, &Options{Stderr: &errs})
		mustCall(t, c)
		c.Close()
		if got := errs.String(); len(got) < 4<<20 || !strings.HasSuffix(got, "\nthe last line\n") {
			t.Errorf("Stderr got %d bytes, ending in %q", len(got), got[max(0, len(got)-20):])
		}
	})
	t.Run("to a writer that fails", func(t *testing.T) {
		calls := 0
		c := start(t, "chatty", nil, &Options{Stderr: writerFunc(func([]byte) (int, error) { calls++; return 0, errors.New("full") })})
		mustCall(t, c)
		c.Close()
		if calls != 1 {
			t.Errorf("Stderr written %d times, want once", calls)
		}
	})
}

// Every call fails at once when the server dies, and says what is known.
func TestClientServerDies(t *testing.T) {
	c := start(t, "dies", nil, nil)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			err := c.Call(t.Context(), "m", nil, nil)
			var exit *exec.ExitError
			if !errors.Is(err, ErrClosed) || !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasSuffix(err.Error(), "first line\nout of luck") {
				t.Errorf("Call() = %v, want exit status 3 and stderr", err)
			}
		})
	}
	group.Wait()
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Close() = %v, want exit status 3", err)
	}
}

// The last answer is in the pipe when the server has ended, and the read loop has no time for it yet.
func TestClientReadsLastWords(t *testing.T) {
	var c *Client
	busy := func(framing.Message) {
		<-c.alive.Done()
		time.Sleep(2 * afterExit) // a process has no fake clock
	}
	c = start(t, "answers and ends", nil, &Options{OnBadLine: busy})
	var got int
	if err := c.Call(t.Context(), "m", nil, &got); err != nil || got != 7 {
		t.Errorf("Call() = %d, %v, want 7", got, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// An OnBadLine that does not return is waited for no longer than a step of Close may take.
func TestClientDoesNotWaitForOnBadLine(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	c := start(t, "answers and ends", nil, &Options{Grace: afterExit, OnBadLine: func(framing.Message) { <-forever }})
	if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call() = %v, want %v", err, ErrClosed)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// The end of the stream comes before the end of the process, and the reason is worth waiting for.
func TestClientServerFades(t *testing.T) {
	c := start(t, "fades", nil, nil)
	err := c.Call(t.Context(), "m", nil, nil)
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "exit status 3") || !strings.HasSuffix(err.Error(), "out of luck") {
		t.Errorf("Call() = %v, want exit status 3 and stderr", err)
	}
}

// A child of the server that holds the pipes open does not hide that the server has ended.
func TestClientServerLeavesChild(t *testing.T) {
	c := start(t, "leaves", nil, nil)
	err := c.Call(t.Context(), "m", nil, nil)
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "exit status 0") {
		t.Fatalf("Call() = %v, want exit status 0", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if pid, err := strconv.Atoi(lines[len(lines)-1]); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

func TestClientServerClosesStdout(t *testing.T) {
	c := start(t, "deaf", nil, nil)
	err := c.Call(t.Context(), "m", nil, nil)
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "stdout") {
		t.Errorf("Call() = %v, want something about stdout", err)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("Close() = %v, want exit status 4", err)
	}
}

// A call does not hang because the server reads nothing.
func TestClientServerDoesNotRead(t *testing.T) {
	c := start(t, "asleep", nil, &Options{Grace: time.Second / 2})
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	big := strings.Repeat("x", 1<<20)
	for range 3 { // more than the pipe and the outbox take
		if err := c.Call(ctx, "m", []string{big}, nil); err != context.DeadlineExceeded {
			t.Errorf("Call() = %v, want %v", err, context.DeadlineExceeded)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

func TestClientClosePolite(t *testing.T) {
	c := start(t, "polite", nil, &Options{Grace: time.Second})
	mustCall(t, c)
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if s := c.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want %v", s.Signal(), syscall.SIGTERM)
	}
}

// The server and its children are killed on schedule.
func TestClientCloseStubborn(t *testing.T) {
	const grace = 100 * time.Millisecond
	alive, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	cmd := child(t, "stubborn")
	cmd.ExtraFiles = []*os.File{theirs} // the server and its child hold it open
	c, err := Start(t.Context(), cmd, nil, &Options{Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	mustCall(t, c)
	begin := time.Now()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if err := c.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Errorf("Close() = %v, want killed", err)
			}
		})
	}
	group.Wait()
	if took := time.Since(begin); took < 2*grace {
		t.Errorf("killed after %v, want two times %v at least", took, grace)
	}
	if err := c.Close(); err == nil {
		t.Error("a later Close() = nil, want the error of the first")
	}
	io.Copy(io.Discard, alive) // ends when both are dead
}

func TestClientContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c, err := Start(ctx, child(t, "serve"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-c.done
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if _, err := Start(ctx, child(t, "serve"), nil, nil); err != context.Canceled {
		t.Errorf("Start() = %v, want %v", err, context.Canceled)
	}
}

func TestClientCloseInCall(t *testing.T) {
	c := start(t, "serve", nil, nil)
	result := make(chan error)
	go func() { result <- c.Call(t.Context(), "wait", map[string]int{"ms": 50}, nil) }()
	for c.Stats().Out.Lines == 0 {
		runtime.Gosched()
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if err := <-result; err != nil { // the server has answered it before it ended
		t.Errorf("Call() = %v, want nil", err)
	}
}

// Close refuses calls at once, but first lets go out what has been sent, to a server that is slow to read.
func TestClientCloseFlushes(t *testing.T) {
	hold, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	cmd := child(t, "late")
	cmd.ExtraFiles = []*os.File{hold} // it reads when that ends
	c, err := Start(t.Context(), cmd, nil, &Options{Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	hold.Close()
	results := make(chan error, 2)
	for range cap(results) {
		go func() { results <- c.Call(t.Context(), "ping", []string{strings.Repeat("x", 300<<10)}, nil) }()
	}
	for c.appended() < 600<<10 {
		runtime.Gosched()
	}
	c.beginClose()
	for err := error(nil); !errors.Is(err, ErrClosed); {
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		err = c.Call(ctx, "ping", nil, nil)
		stop()
		if c.alive.Err() != nil {
			t.Fatal("calls are taken until the server has ended")
		}
	}
	theirs.Close()
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	for range cap(results) {
		if err := <-results; err != nil { // all of it has come through
			t.Errorf("Call() = %v, want nil", err)
		}
	}
}

// appended returns the number of bytes that have been sent or are to be.
func (c *Conn) appended() int64 {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.appended
}

func TestClientIsAsked(t *testing.T) {
	c := start(t, "asks", func(ctx context.Context, r *Request) (any, error) { return "from " + r.Method, nil }, nil)
	var got string
	if err := c.Call(t.Context(), "m", nil, &got); err != nil || got != "from roots/list" {
		t.Errorf("Call() = %v with %q, want what the client's handler answers", err, got)
	}
}

// A handler may close its own client.
func TestClientCloseInHandler(t *testing.T) {
	var c *Client
	closed := make(chan error, 1)
	ready := make(chan bool)
	c = start(t, "asks", func(context.Context, *Request) (any, error) {
		<-ready
		closed <- c.Close()
		return nil, nil
	}, nil)
	close(ready)
	if err := c.Call(t.Context(), "m", nil, nil); err == nil {
		t.Error("Call() = nil, want an error")
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

func TestStartErrors(t *testing.T) {
	before := runtime.NumGoroutine()
	if _, err := Start(t.Context(), exec.Command("/no/such/program"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start() = %v, want %v", err, os.ErrNotExist)
	}
	cmd := exec.Command("true")
	cmd.Stderr = os.Stderr
	if _, err := Start(t.Context(), cmd, nil, nil); err == nil || !strings.Contains(err.Error(), "Options.Stderr") {
		t.Errorf("Start() = %v, want a word about Options.Stderr", err)
	}
	wantGoroutines(t, before)
}

func TestTail(t *testing.T) {
	for _, test := range []struct {
		name string
		add  []string
		want string
	}{
		{"nothing", nil, ""},
		{"a line in pieces", []string{"a", "b\r\n"}, "ab"},
		{"ten of eleven lines", []string{"0\n1\n2\n3\n4\n5\n", "6\n7\n8\n9\n10\n"}, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"},
		{"a long line", []string{strings.Repeat("x", 9000), "y"}, strings.Repeat("x", tailBytes-1) + "y"},
		{"no UTF-8", []string{"a\xffb"}, "a\uFFFDb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tl tail
			for _, s := range test.add {
				tl.add([]byte(s))
			}
			if got := tl.text(); got != test.want {
				t.Errorf("text() = %.80q, want %.80q", got, test.want)
			}
		})
	}
}
