package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// afterExit is how long what a dead server has written is waited for, its handling included. It is in the pipe already,
// 64 KiB at most; only the end of the stream can be missing, when a child of the server holds the pipe open.
const afterExit = 250 * time.Millisecond

// Client is a connection to a server that runs as a child process. Make one with [Start]. All methods may be called from
// any number of goroutines.
type Client struct {
	*Conn
	cmd    *exec.Cmd
	grace  time.Duration
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   tail // of what came from stderr

	alive   context.Context // ends when the process has been waited for
	exitErr error           // what Wait returned; valid when alive has ended
	drained chan struct{}   // closed when stderr has ended
	over    chan struct{}   // closed when Run has returned
	closing sync.Once
	shut    chan struct{} // closed when shutDown has done what it can
	measure measure       // the last one that shutDown took; valid when shut is closed
	done    chan struct{} // closed when everything is over
}

// measure is what ends a server.
type measure uint8

const (
	stdinClosed measure = iota
	asked
	killed
)

// Start starts cmd, whose Stdin, Stdout and Stderr must be nil, and returns a running connection to it. h answers what the
// server asks; nil answers -32601. When ctx ends, the client is closed as by [Client.Close].
//
// The server's stderr is read at all times, so that a chatty server does not block, and goes to [Options.Stderr], which
// therefore must not block either. On Unix the server gets a process group of its own; a terminal's Ctrl-C does not reach it.
//
// When the server ends, every call fails at once with an error that wraps [ErrClosed] and the *exec.ExitError and tells the
// exit status and the last lines from stderr. Notifications that it has sent before still reach h, if that takes no more than
// 250 ms. Lines on its stdout that are no messages go to [Options.OnBadLine], and nothing else happens.
func Start(ctx context.Context, cmd *exec.Cmd, h Handler, opts *Options) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil {
		return nil, errors.New("stdio: Stdin, Stdout and Stderr of the command must be nil; its stderr goes to Options.Stderr")
	}
	c := &Client{cmd: cmd, drained: make(chan struct{}), over: make(chan struct{}), shut: make(chan struct{}), done: make(chan struct{})}
	if err := c.launch(); err != nil {
		return nil, fmt.Errorf("stdio: starting the server: %w", err)
	}
	o := opts.withDefaults()
	// Nobody reads an answer to a log line on stdout, and when the server has gone there is nobody to drain for.
	o.Quiet, o.DrainTimeout = true, -1
	c.grace = o.Grace
	c.Conn = NewConn(c.stdout, c.stdin, h, &o)
	c.cause, c.linger = c.causeOf, afterExit
	values := context.WithoutCancel(ctx)
	alive, died := context.WithCancel(values)
	c.alive = alive
	run, stopRun := context.WithCancel(values)
	go c.drainStderr(o.Stderr)
	go c.run(run)
	go c.wait(died, stopRun, context.AfterFunc(ctx, c.beginClose))
	return c, nil
}

// launch starts the process with three pipes. They are files on both sides, so that cmd.Wait waits for the process alone and
// not for whoever has inherited a pipe.
func (c *Client) launch() error {
	mine := [3]**os.File{&c.stdin, &c.stdout, &c.stderr}
	var theirs [3]*os.File
	var err error
	for i := range theirs {
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			break
		}
		if i == 0 {
			r, w = w, r
		}
		*mine[i], theirs[i] = r, w
	}
	if err == nil {
		c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
		ownGroup(c.cmd)
		err = c.cmd.Start()
	}
	for i := range theirs {
		theirs[i].Close() // of a nil file an error, no more
		if err != nil {
			(*mine[i]).Close()
		}
	}
	return err
}

// Close ends the connection and the server: it closes the server's stdin, when everything has been written, waits
// [Options.Grace] for it to exit, asks it to with SIGTERM, waits as long again, and kills it; the signals go to the whole
// process group. Windows has neither: there it is killed after the first wait. Calls in flight may still be answered
// meanwhile, new ones fail. When Close returns, the process has been waited for and all goroutines of the client have ended,
// but for handlers that ignore their context.
//
// It returns nil if the server ended with status 0, or because it was asked to, and else an error that says how it ended. It
// may be called at any time and any number of times, also by several goroutines, and after the server has ended by itself;
// all get the same. A handler of the client may call it, and is waited for no longer than 250 ms then. An [Options.OnBadLine]
// or [Options.Stderr] that calls it is waited for as long as Options.Grace.
func (c *Client) Close() error {
	c.beginClose()
	<-c.done
	switch {
	case c.exitErr == nil || c.measure == asked:
		return nil
	case c.measure == killed:
		return fmt.Errorf("stdio: the server did not end when its stdin was closed, nor when it was asked to: %w", c.exitErr)
	}
	return fmt.Errorf("stdio: %w", c.ended())
}

// beginClose starts the closing, once.
func (c *Client) beginClose() {
	c.closing.Do(func() { go c.shutDown() })
}

// shutDown is the shutdown of the MCP 2026-07-28 stdio transport: close stdin, then terminate, then kill.
func (c *Client) shutDown() {
	defer close(c.shut)
	c.refuseCalls()
	grace, stop := context.WithTimeout(c.alive, c.grace)
	defer stop()
	c.out.flushed(grace)
	c.out.end()
	c.stdin.Close()
	if <-grace.Done(); c.alive.Err() != nil {
		return
	}
	c.measure = asked
	askGroup(c.cmd)
	grace, stop = context.WithTimeout(c.alive, c.grace)
	defer stop()
	if <-grace.Done(); c.alive.Err() == nil {
		c.measure = killed
	}
	killGroup(c.cmd) // also what the server has left behind
}

// run runs the connection. A server without one is of no use, so its end begins the closing.
func (c *Client) run(ctx context.Context) {
	c.Conn.Run(ctx)
	close(c.over)
	c.beginClose()
}

// wait waits for the process and then ends the rest.
func (c *Client) wait(died, stopRun context.CancelFunc, stopWatch func() bool) {
	c.exitErr = c.cmd.Wait()
	died()
	c.readOut()
	c.stdout.Close()
	c.stderr.Close()
	stopRun()
	<-c.over
	<-c.shut
	stopWatch()
	close(c.done)
}

// readOut waits until what the dead server has written is read: until nothing has come for afterExit, or as long as a step
// of Close may take, if the read loop is kept from it.
func (c *Client) readOut() {
	enough, stop := context.WithTimeout(context.Background(), c.grace)
	defer stop()
	for {
		edge := c.in.edges.Load()
		within(afterExit, c.over, c.drained)
		select {
		case <-c.over:
			return
		case <-enough.Done():
			return
		default:
			if c.in.waitsSince(edge) {
				return
			}
		}
	}
}

// causeOf returns what the calls in flight fail with when Run ends with end: how the server ended, if it did.
func (c *Client) causeOf(end error) error {
	within(afterExit, c.alive.Done(), c.drained)
	switch {
	case c.alive.Err() != nil:
		return c.ended()
	case end == nil:
		return errors.New("the server has closed its stdout")
	}
	return end
}

// within waits until all are closed, at most d.
func within(d time.Duration, all ...<-chan struct{}) {
	enough, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	for _, one := range all {
		select {
		case <-one:
		case <-enough.Done():
		}
	}
}

// ended says how the server ended. c.alive has ended.
func (c *Client) ended() error {
	err := c.exitErr
	if err == nil {
		err = errors.New("exit status 0")
	}
	if last := c.tail.text(); last != "" {
		return fmt.Errorf("the server ended: %w; its last lines on stderr:\n%s", err, last)
	}
	return fmt.Errorf("the server ended: %w; it wrote nothing to stderr", err)
}

// drainStderr reads stderr to its end, whatever becomes of w.
func (c *Client) drainStderr(w io.Writer) {
	defer close(c.drained)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.stderr.Read(buf)
		c.tail.add(buf[:n])
		if w != nil && n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				c.opt.Logger.Warn("the server's stderr cannot be written", "err", err)
				w = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// What a tail keeps.
const (
	tailBytes = 4 << 10
	tailLines = 10
)

// tail keeps the end of what is added. It may be used by several goroutines.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// text returns the last lines.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimRight(string(t.buf), "\r\n \t"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
}
