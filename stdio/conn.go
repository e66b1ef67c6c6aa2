package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mcp/framing"
)

// Conn is one end of a JSON-RPC connection. Make one with [NewConn], [Start] or, behind a [Request], [Serve]; the zero
// value does not work. All methods may be called from any number of goroutines, handlers among them.
type Conn struct {
	handler Handler
	opt     Options
	in      input
	reader  *framing.Reader
	out     outbox
	badRow  int        // bad lines since the last good one; the read loop's
	others  int        // lone requests to be run by other goroutines before the read loop runs one; the read loop's
	pause   int        // what others is to be after one that is slow; the read loop's
	read    chan error // gets what ended the read loop

	// cause, if set, turns what ended the connection into what the calls in flight get. A Client waits in it for the
	// exit status of its server.
	cause func(error) error
	// linger, if set, is for how long more is waited for after a failed write, and then for how long notifications are still
	// handled. What a server has written before it died is still to be had.
	linger time.Duration

	mu      sync.Mutex
	queue   queue
	inHand  map[string]*job // requests that are read and not answered, by their id
	calls   map[int64]*call // our calls that are not answered; nil when no answer can come any more
	gone    map[int64]bool  // our calls that were given up, for their late answers
	lastID  int64           // of our calls
	callErr error           // why calls is nil
	stats   Stats
	ctx     context.Context // what the handlers' contexts come from; nil: Run has not been called
	cancel  context.CancelFunc
	settled chan struct{} // closed when no fresh job is left; nil: nobody waits for that
	drained chan struct{} // closed when nothing is in hand; nil: nobody waits for that
	ended   bool          // Run is over: nothing is started or answered any more
}

// NewConn returns a connection that reads from r and writes to w when [Conn.Run] is called. A nil h answers every request
// -32601. r and w stay the caller's; over this process's own stdin and stdout use [Serve], which also keeps them clean.
// Each Write is one or several whole frames. If w is a pipe or a socket whose other end may vanish, its Write has to return
// an error then: Go turns EPIPE on os.Stdout itself into a SIGPIPE.
func NewConn(r io.Reader, w io.Writer, h Handler, opts *Options) *Conn {
	if h == nil {
		h = Methods(nil).Handle
	}
	c := &Conn{handler: h, opt: opts.withDefaults(), inHand: map[string]*job{}, calls: map[int64]*call{}, gone: map[int64]bool{}}
	c.in.r = r
	c.reader = framing.NewReader(&c.in)
	c.reader.MaxLine = c.opt.MaxLine
	maxLine := c.opt.MaxLine
	if maxLine == 0 {
		maxLine = framing.DefaultMaxLine
	}
	c.queue = newQueue(&c.opt, maxLine)
	c.others, c.pause, c.read = minPause, minPause, make(chan error, 1)
	c.out.w = w
	c.out.broken = make(chan struct{})
	return c
}

// Run reads and serves until the stream ends and returns nil then, when the requests in hand have been answered or
// [Options.DrainTimeout] is over. It returns early with ctx.Err() when ctx ends, with the reader's error when that breaks,
// and with the writer's error when an answer cannot be written. When it returns, the contexts of the handlers that still
// run have ended, nothing is written any more, and every call fails with an error that wraps [ErrClosed].
//
// Run returns at the end of ctx even if a Read, a Write or a handler is blocked. The goroutine in it stays until it comes
// back: close the streams to make it. A line that such a Read still gets is lost. A Conn runs once.
func (c *Conn) Run(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	go c.readLoop()
	var err error
	select {
	case err = <-c.read:
		// No answer can come any more: a handler that waits for one would wait for the whole DrainTimeout.
		c.failCalls(err)
		err = c.drain(ctx, err)
		c.hearOut(ctx)
	case <-c.out.broken:
		err = c.out.failure()
		if c.linger > 0 {
			c.readOn(ctx)
			c.failCalls(err)
			c.hearOut(ctx)
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.end()
	c.failCalls(err)
	return err
}

// readOn waits for the end of the read loop, after a failed write, as long as something comes within linger.
func (c *Conn) readOn(ctx context.Context) {
	for {
		edge := c.in.edges.Load()
		select {
		case <-c.read:
			return
		case <-ctx.Done():
			return
		case <-time.After(c.linger):
			if c.in.waitsSince(edge) {
				return
			}
		}
	}
}

func (c *Conn) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil {
		return errors.New("stdio: Run called twice")
	}
	// The handlers' contexts end after the connection has, so that none of them answers that its context has ended.
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// drain waits for the requests in hand and their answers, after the read loop has ended with readErr. It returns what Run
// is to return.
func (c *Conn) drain(ctx context.Context, readErr error) error {
	if c.opt.DrainTimeout < 0 {
		return readErr
	}
	enough, stop := context.WithTimeoutCause(ctx, c.opt.DrainTimeout, errDrained)
	defer stop()
	var err error
	select {
	case <-c.whenDrained():
		err = c.out.flushed(enough)
	case <-c.out.broken:
		err = c.out.failure()
	case <-enough.Done():
		err = enough.Err()
	}
	switch {
	case readErr != nil || err == nil || context.Cause(enough) == errDrained:
		return readErr
	default:
		return err
	}
}

// hearOut waits for the handlers of what the other side has said before it went, at most linger: the last progress of a
// call that has been answered, or a server's last words. Nobody waits for answers any more, so the contexts of its requests
// end.
func (c *Conn) hearOut(ctx context.Context) {
	if c.linger == 0 {
		return
	}
	c.mu.Lock()
	requests := slices.Collect(maps.Values(c.inHand))
	c.mu.Unlock()
	for _, j := range requests {
		j.ctx.end()
	}
	select {
	case <-c.whenDrained():
	case <-time.After(c.linger):
	case <-ctx.Done():
	}
}

// whenDrained returns a channel that is closed when nothing is in hand. The last one returned counts.
func (c *Conn) whenDrained() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	drained := make(chan struct{})
	c.drained = drained
	c.signalDrained()
	return drained
}

// errDrained is the cause of the context that ends at the DrainTimeout.
var errDrained = errors.New("stdio: drain timeout")

// jobDone gives back the place of j and tells those who wait for that. c.mu is held; what may start now is not ready yet.
func (c *Conn) jobDone(j *job) {
	c.queue.done(j)
	c.signalSettled()
	c.signalDrained()
}

// signalDrained tells drain that nothing is in hand. c.mu is held.
func (c *Conn) signalDrained() {
	if c.drained != nil && c.queue.idle() {
		close(c.drained)
		c.drained = nil
	}
}

// end stops everything that does not stop by itself.
func (c *Conn) end() {
	c.mu.Lock()
	c.ended = true
	c.queue.waiting = fifo{}
	c.mu.Unlock()
	c.out.end()
	c.cancel()
}

// input counts bytes and lets the handlers go first.
type input struct {
	r     io.Reader
	bytes atomic.Int64
	lone  bool         // the last Read has ended one line and begun no other
	edges atomic.Int64 // counts the beginnings and the ends of Reads: odd during one
}

// Read gives up the processor before it may block: the handlers of the requests that came with the last Read then run
// on this thread, at once, and not on one that has to be woken.
func (in *input) Read(p []byte) (int, error) {
	runtime.Gosched()
	in.edges.Add(1)
	n, err := in.r.Read(p)
	in.edges.Add(1)
	in.lone = 0 < n && n <= len(p) && bytes.IndexByte(p[:n], '\n') == n-1
	in.bytes.Add(int64(n))
	return n, err
}

// waitsSince reports whether one Read has been waiting all the time since edges had this value. If not, there may be more
// to read at once: a message of many megabytes or a slow [Options.OnBadLine] keeps the read loop from it.
func (in *input) waitsSince(edge int64) bool { return edge%2 == 1 && in.edges.Load() == edge }
