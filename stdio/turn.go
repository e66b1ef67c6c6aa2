package stdio

import (
	"sync/atomic"
	"time"

	"example.com/mcp/framing"
)

// patience is how long a lone request may hold up the reading. Where the whole process sleeps meanwhile, Linux wakes it
// after 1.1 ms, because epoll waits whole milliseconds; what comes after the patience wakes it itself.
const patience = 50 * time.Microsecond

// How many lone requests go to goroutines of their own, at first and after one that took longer than patience: twice as
// many each time, until one is quick, so that a server whose requests are all slow hardly ever waits for them.
const (
	minPause = 64
	maxPause = 4096
)

// turn is the right to read. The goroutine that has it runs a lone request itself: to wake another one, and perhaps
// another processor, takes as long as many an answer (a ping over pipes, on one processor: 10.5 µs instead of 15.8). Where
// the answer takes longer than patience, a new goroutine reads on. So a handler may take as long as it likes, and call
// the other side.
type turn struct {
	c     *Conn
	here  bool        // the goroutine still has it; its own
	lent  atomic.Bool // the goroutine is at a request; who clears it has the turn
	timer *time.Timer // calls pass
}

func (c *Conn) newTurn() *turn {
	t := &turn{c: c, here: true}
	t.timer = time.AfterFunc(time.Hour, t.pass)
	t.timer.Stop()
	return t
}

// pass reads on in place of a goroutine that is still at a request.
func (t *turn) pass() {
	if t.lent.CompareAndSwap(true, false) {
		t.c.others, t.c.pause = t.c.pause, min(2*t.c.pause, maxPause)
		t.c.readLoop()
	}
}

// handle handles a line. If a callback or a handler leaves by runtime.Goexit, as t.FailNow does, the reading goes on
// without this goroutine.
func (t *turn) handle(m *framing.Message) {
	exited := true
	defer func() {
		if exited && t.here {
			go t.c.readLoop()
		}
	}()
	if t.c.handle(m) {
		t.work()
	}
	exited = false
}

// work runs the job that is ready.
func (t *turn) work() {
	t.lent.Store(true)
	t.timer.Reset(patience)
	defer t.end()
	t.c.work()
}

// end ends the lending and notes whether the turn has been passed on.
func (t *turn) end() {
	t.timer.Stop()
	if t.here = t.lent.CompareAndSwap(true, false); t.here {
		t.c.pause = minPause
	}
}
