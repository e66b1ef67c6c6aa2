package stdio

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"example.com/mcp/framing"
)

// What may wait to be written, in bytes before the last frame. Handlers and callers wait at the first limit. The read loop
// answers bad and refused lines without waiting, until at the second the other side has to read before it is read on. The
// second is far above the first: what one side sends up to its first limit cannot bring the other to its second, so that
// two of our peers do not stop reading at the same time.
const (
	maxUnsent        = 1 << 20
	maxUnsentReplies = 8 << 20
)

// keepBuffer is the largest buffer that is kept for the next message.
const keepBuffer = 64 << 10

var errFull = errors.New("stdio: the other side does not read")

// outbox gathers frames and writes them in order, in one Write call all that have come while the last one was under way.
// It is not a framing.Writer because whoever calls that waits for the system call, and neither the read loop nor a Call
// whose context ends may.
//
//	appended bytes = written + bytes in Write + len(buf)
//
// Whoever sets busy writes; nobody else touches w then.
type outbox struct {
	w      io.Writer
	broken chan struct{} // closed when a write has failed

	mu       sync.Mutex
	buf      []byte        // frames for the next Write
	spare    []byte        // the buffer of the last Write, empty
	tally    tally         // what is in buf
	inWrite  tally         // what is in Write
	sent     Traffic       // what has been written
	answered int64         // responses among it
	appended int64         // bytes, ever
	written  int64         // bytes, ever
	busy     bool          // somebody writes or is about to
	err      error         // the first failure, or ErrClosed; nothing is written after it
	progress chan struct{} // closed at the end of a Write; made by who waits
}

// tally counts frames.
type tally struct {
	kinds   [numKinds]int64
	answers int64 // responses, those in batches one by one
	largest int
}

func (t *tally) add(kind framing.Kind, answers, size int) {
	t.kinds[kind]++
	t.answers += int64(answers)
	t.largest = max(t.largest, size)
}

// post appends frame, which stays the caller's, and returns the number that wait takes. While limit bytes wait it waits
// with them, as long as ctx allows; a nil ctx does not wait and gets errFull.
func (o *outbox) post(ctx context.Context, frame []byte, kind framing.Kind, answers, limit int) (int64, error) {
	for {
		o.mu.Lock()
		if o.err != nil || len(o.buf) < limit {
			break
		}
		progress := o.watch()
		o.mu.Unlock()
		if ctx == nil {
			return 0, errFull
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	o.buf = append(o.buf, frame...)
	o.tally.add(kind, answers, len(frame)-1)
	o.appended += int64(len(frame))
	if !o.busy {
		o.busy = true
		go o.flush()
	}
	return o.appended, nil
}

// direct writes frame from the calling goroutine if nothing is on its way, and reports whether it did. It saves a lone
// answer the way over another goroutine.
func (o *outbox) direct(frame []byte, kind framing.Kind, answers int) bool {
	o.mu.Lock()
	if o.busy || len(o.buf) > 0 || o.err != nil {
		o.mu.Unlock()
		return false
	}
	o.busy = true
	o.inWrite = tally{}
	o.inWrite.add(kind, answers, len(frame)-1)
	o.appended += int64(len(frame))
	o.mu.Unlock()
	o.write(frame)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy = len(o.buf) > 0 && o.err == nil; o.busy {
		go o.flush()
	}
	return true
}

// flush writes until nothing is left. It lets the other goroutines run first, which post what they have: of 64 callers
// that one read has woken, the requests go out in one Write (measured: 0.05 Write calls a request instead of 0.87).
func (o *outbox) flush() {
	var frames []byte
	for {
		runtime.Gosched()
		o.mu.Lock()
		if cap(frames) <= keepBuffer {
			o.spare = frames[:0]
		}
		if len(o.buf) == 0 || o.err != nil {
			o.busy = false
			o.mu.Unlock()
			return
		}
		frames, o.buf, o.spare = o.buf, o.spare, nil
		o.inWrite, o.tally = o.tally, tally{}
		o.mu.Unlock()
		o.write(frames)
	}
}

// write is the one Write call. The caller has set busy and inWrite.
func (o *outbox) write(frames []byte) {
	n, err := o.w.Write(frames)
	if err == nil && n < len(frames) {
		err = io.ErrShortWrite
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		close(o.broken)
	} else {
		o.written += int64(n)
		o.answered += o.inWrite.answers
		o.sent.add(&o.inWrite, n)
		o.inWrite = tally{}
	}
	o.wake()
}

// wait returns when everything up to mark, a number from post, has been written.
func (o *outbox) wait(ctx context.Context, mark int64) error {
	for {
		o.mu.Lock()
		done, err, progress := o.written >= mark, o.err, o.watch()
		o.mu.Unlock()
		if done {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flushed returns when everything that has been posted so far has been written.
func (o *outbox) flushed(ctx context.Context) error {
	o.mu.Lock()
	mark := o.appended
	o.mu.Unlock()
	return o.wait(ctx, mark)
}

// end drops what is not written and refuses what comes.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = ErrClosed
	}
	o.buf = nil
	o.wake()
}

// failure returns the error of the write that failed, once broken is closed.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// watch returns the channel that the end of the next Write closes. o.mu is held.
func (o *outbox) watch() chan struct{} {
	if o.progress == nil {
		o.progress = make(chan struct{})
	}
	return o.progress
}

// wake lets those who watch look again. o.mu is held.
func (o *outbox) wake() {
	if o.progress != nil {
		close(o.progress)
		o.progress = nil
	}
}
