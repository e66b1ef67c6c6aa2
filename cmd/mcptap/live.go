package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
	"example.com/mcp/framing/cmd/mcptap/internal/show"
)

// What a shell exits with when it cannot start a command.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// live runs the server of c between std and itself and returns the status to
// exit with.
func live(c config, std streams) int {
	t := newTap(c, std)
	if err := t.openRecords(); err != nil {
		fmt.Fprintf(std.err, "mcptap: %v\n", err)
		return exitUsage
	}
	in, undo := polled(std.in)
	defer undo()
	t.std.in = in
	signals := make(chan os.Signal, 16)
	catch(signals)
	defer signal.Stop(signals)
	if err := t.start(); err != nil {
		fmt.Fprintf(std.err, "mcptap: %v\n", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return exitNotFound
		}
		return exitCannotRun
	}
	state := t.run(signals)
	t.finish(state)
	return exitStatus(state)
}

// A tap is one live session. Four goroutines move bytes: host to server,
// server to host, the server's stderr, and one observes copies of them.
type tap struct {
	c      config
	std    streams
	stderr *stderrLog
	q      *queue
	sup    supervisor

	cmd      *exec.Cmd
	in       io.WriteCloser // the server's stdin
	out, err io.ReadCloser  // its stdout and stderr
	exited   chan struct{}  // closed when it has, and was waited for

	left  chan struct{} // closed when the host has gone
	leave sync.Once

	toServerPulse, toClientPulse, stderrPulse pulse

	junk     *junkPrinter  // nil: nothing is taken out
	observed chan struct{} // closed when the queue has been worked off
	late     atomic.Bool   // the rest of it is to be counted only
	watch    watcher       // used by the observing goroutine alone, then by finish
}

func newTap(c config, std streams) *tap {
	t := &tap{
		c: c, std: std, stderr: &stderrLog{w: std.err}, q: newQueue(queueBytes),
		left: make(chan struct{}), observed: make(chan struct{}), exited: make(chan struct{}),
	}
	t.watch.obs = observe.NewObserver(c.maxLine, c.redact)
	t.watch.report = show.New(t.stderr, c.json, wantsColour(std.err))
	t.watch.obs.OnEntry, t.watch.obs.OnEvent = t.watch.entry, t.watch.event
	t.watch.verbose, t.watch.redact = c.verbose, c.redact
	return t
}

// start starts the server with pipes in place of our streams.
func (t *tap) start() error {
	cmd := exec.Command(t.c.command[0], t.c.command[1:]...)
	ownGroup(cmd)
	dieWithUs(cmd)
	var theirs []io.Closer
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil // Start then says that it is not open
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	theirs = append(theirs, inR, outW, errW)
	err := t.launch(cmd)
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, f := range []*os.File{inW, outR, errR} {
			f.Close()
		}
		return err
	}
	t.cmd, t.in, t.out, t.err = cmd, inW, outR, errR
	return nil
}

// launch starts cmd, from a thread that stays as long as it runs: see dieWithUs.
func (t *tap) launch(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(t.exited)
		}
	}()
	return <-started
}

// run moves the traffic until the server has ended and everything it wrote
// has gone through.
func (t *tap) run(signals <-chan os.Signal) *os.ProcessState {
	for _, p := range t.pulses() {
		p.beat()
	}
	at, command := time.Now(), t.c.command
	t.q.do(func() { t.watch.start(at, command) })
	if t.c.clean {
		t.junk = newJunkPrinter(t.stderr)
	}
	go t.observe()
	go t.toServer()
	outDone, errDone := make(chan struct{}), make(chan struct{})
	go func() { defer close(outDone); t.toClient() }()
	go func() { defer close(errDone); t.stderr.copy(t.err, t.stderrPulse.beat) }()

	t.sup.grace, t.sup.last = t.c.grace, t.last
	t.sup.own = t.own
	t.sup.signal = func(sig os.Signal) { sendSignal(t.cmd.Process, sig) }
	t.sup.kill = func() { killGroup(t.cmd.Process) }
	onHangup(t.std.in, t.hostLeft)
	t.sup.run(t.left, signals, t.exited)

	asked := t.sup.signaled.Load()
	asked = t.drain(outDone, &t.toClientPulse, asked, signals)
	t.drain(errDone, &t.stderrPulse, asked || t.sup.left.Load(), signals)
	return t.cmd.ProcessState
}

// own takes the signals that are for mcptap itself.
func (t *tap) own(sig os.Signal) bool {
	if isSummary(sig) {
		t.q.do(func() { t.watch.summary(time.Now(), false) })
		return true
	}
	return isDropped(sig)
}

// drain waits for the end of a stream of a server that has exited. A child of
// the server may hold it open: then silence ends it. A host that is slow to
// read is waited for, as the server's own pipe would, unless it has asked for
// the end: then grace is all there is. drain reports whether it has.
func (t *tap) drain(done <-chan struct{}, p *pulse, asked bool, signals <-chan os.Signal) bool {
	alive := time.Now() // however long it was silent before: its last words may just be coming
	for {
		if last := p.last(); !asked && last.After(alive) {
			alive = last
		}
		wait := t.c.grace - time.Since(alive)
		if wait <= 0 {
			return asked
		}
		select {
		case <-done:
			return asked
		case sig := <-signals: // nobody is left to pass it on to
			if !t.own(sig) {
				return true
			}
		case <-time.After(wait):
		}
	}
}

// last returns when the session last showed life.
func (t *tap) last() (last time.Time) {
	for _, p := range t.pulses() {
		if at := p.last(); at.After(last) {
			last = at
		}
	}
	return last
}

func (t *tap) pulses() []*pulse {
	return []*pulse{&t.toServerPulse, &t.toClientPulse, &t.stderrPulse}
}

// hostLeft notes that the host has gone.
func (t *tap) hostLeft() {
	t.leave.Do(func() {
		t.sup.left.Store(true)
		close(t.left)
	})
}

// toServer passes the host's bytes on. They are put before they are passed,
// so that a request is observed before its answer.
func (t *tap) toServer() {
	buf := make([]byte, readSize)
	for {
		n, err := t.std.in.Read(buf)
		if n > 0 {
			t.q.put(time.Now(), observe.ToServer, buf[:n])
			if _, werr := t.in.Write(buf[:n]); werr != nil {
				closeIfPossible(t.std.in) // the server reads no more: nor do we
				onHangup(t.std.out, t.hostLeft)
				return
			}
			t.toServerPulse.beat()
		}
		if err != nil {
			at := time.Now()
			t.q.do(func() { t.watch.eof(at, observe.ToServer) })
			t.hostLeft()
			t.in.Close()
			return
		}
	}
}

// toClient passes the server's bytes on.
func (t *tap) toClient() {
	buf := make([]byte, readSize)
	w, end := t.clientWriter()
	for {
		n, err := t.out.Read(buf)
		if n > 0 {
			t.q.put(time.Now(), observe.ToClient, buf[:n])
			if werr := t.pass(w, buf[:n]); werr != nil {
				t.hostLeft() // and the server is to learn it as it would without us
				t.out.Close()
				t.in.Close()
				return
			}
		}
		if err != nil {
			at := time.Now()
			t.q.do(func() { t.watch.eof(at, observe.ToClient) })
			end()
			closeIfPossible(t.std.out)
			return
		}
	}
}

func (t *tap) pass(w io.Writer, p []byte) error {
	t.toClientPulse.passing.Store(true)
	_, err := w.Write(p)
	t.toClientPulse.beat()
	t.toClientPulse.passing.Store(false)
	return err
}

// clientWriter returns where the server's bytes go, and what to call at
// their end.
func (t *tap) clientWriter() (w io.Writer, end func()) {
	if t.junk == nil {
		return t.std.out, func() {}
	}
	c := &cleaner{w: t.std.out, junk: t.junk.print, maxLine: limit(t.c.maxLine)}
	return c, func() { c.Close(); t.junk.close() }
}

func closeIfPossible(v any) {
	if c, ok := v.(io.Closer); ok {
		c.Close()
	}
}

// finish works off the queue and prints the summary. The host waits for us to
// exit: late in grace what the queue still holds is counted only, and when it is
// over, as with a stderr that takes nothing, the rest is given up.
func (t *tap) finish(state *os.ProcessState) {
	end := observe.End{
		Status: state.String(),
		Alone:  !t.sup.left.Load() && !t.sup.signaled.Load(),
		Failed: !state.Success() && !t.sup.signaled.Load(),
		Stderr: t.stderr.last(),
	}
	at := time.Now()
	t.q.do(func() { t.watch.end(at, end) })
	t.q.close()
	wait := max(t.c.grace, time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if t.junk != nil {
			select {
			case <-t.junk.done:
			case <-time.After(wait / 2): // a child of the server may go on printing
			}
		}
		<-t.observed
		t.watch.summary(time.Now(), true)
		t.watch.close()
	}()
	defer time.AfterFunc(wait*3/4, func() { t.late.Store(true) }).Stop()
	select {
	case <-done:
	case <-time.After(wait):
	}
}

// observe works the queue off until it is closed.
func (t *tap) observe() {
	defer close(t.observed)
	for {
		events, open := t.q.take()
		for len(events) > 0 {
			if t.late.Load() {
				events = unseen(events)
			}
			t.see(events[0])
			events = events[1:]
		}
		if !open {
			return
		}
		t.watch.flush()
	}
}

func (t *tap) see(e event) {
	switch {
	case e.do != nil:
		e.do()
	case e.gap != nil:
		t.watch.gap(e.at, e.dir, *e.gap)
	default:
		t.watch.chunk(e.at, e.dir, e.data)
	}
}
