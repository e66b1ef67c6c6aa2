package stdio

import (
	"sync/atomic"
	"time"
)

// patience is how long a lone request may hold up the reading.
const patience = 50 * time.Microsecond

// lonePause is how many lone requests go to goroutines of their own, at first and after one that took longer than patience.
const lonePause = 64

// turn is the right to read. The goroutine that has it runs a lone request itself: to wake another one, and perhaps
// another processor, takes as long as many an answer (a ping over pipes, on one processor: 10.5 µs instead of 15.8). Where
// the answer takes longer than patience, a new goroutine reads on. So a handler may take as long as it likes, and call
// the other side.
type turn struct {
	c     *Conn
	lent  atomic.Bool // the goroutine is at a request; who clears it has the turn
	timer *time.Timer // calls pass
}

func (c *Conn) newTurn() *turn {
	t := &turn{c: c}
	t.timer = time.AfterFunc(time.Hour, t.pass)
	t.timer.Stop()
	return t
}

// pass reads on in place of a goroutine that is still at a request.
func (t *turn) pass() {
	if t.lent.CompareAndSwap(true, false) {
		t.c.others = lonePause
		t.c.readLoop()
	}
}

// work runs the job that is ready and reports whether the turn is still here.
func (t *turn) work() bool {
	exited := true
	defer func() {
		if exited && t.end() { // by runtime.Goexit
			go t.c.readLoop()
		}
	}()
	t.lent.Store(true)
	t.timer.Reset(patience)
	t.c.work()
	exited = false
	return t.end()
}

// end ends the lending and reports whether the turn has not been passed on.
func (t *turn) end() bool {
	t.timer.Stop()
	return t.lent.CompareAndSwap(true, false)
}
