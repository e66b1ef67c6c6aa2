package main

import (
	"bytes"
	"sync"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// queueBytes bounds what waits to be observed, the bytes and their
// bookkeeping together. It rides out a disk that stalls for a moment.
const queueBytes = 32 << 20

// eventBytes is charged for each event besides its bytes, so that a flood of
// tiny reads is bounded as well.
const eventBytes = 128

// event is what the traffic hands to the observer: bytes, a gap, or something
// to do in its place among them.
type event struct {
	at   time.Time
	dir  observe.Dir
	data []byte
	gap  *observe.Gap
	do   func()
}

// A queue carries events from the goroutines that move the traffic to the one
// that observes it. Putting never waits: what finds no room is counted in a
// gap. Any number of goroutines may put, one may take.
type queue struct {
	wake chan struct{} // has an element when there is something to take

	mu     sync.Mutex
	limit  int
	size   int // of events and of what the taker has in hand
	inHand int
	events []event
	gaps   [3]*observe.Gap // in events, nothing of that direction behind it
	closed bool
}

func newQueue(limit int) *queue {
	return &queue{wake: make(chan struct{}, 1), limit: limit}
}

// put takes a copy of chunk, or counts it if there is no room.
func (q *queue) put(at time.Time, d observe.Dir, chunk []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(chunk)+eventBytes > q.limit {
		q.miss(at, d, gapOf(chunk))
		return
	}
	q.gaps[d] = nil
	q.add(event{at: at, dir: d, data: bytes.Clone(chunk)})
}

// miss adds g to the gap that is last in its direction, or begins one.
func (q *queue) miss(at time.Time, d observe.Dir, g observe.Gap) {
	if q.gaps[d] == nil {
		q.gaps[d] = new(observe.Gap)
		q.add(event{at: at, dir: d, gap: q.gaps[d]})
	}
	gap := q.gaps[d]
	gap.Bytes += g.Bytes
	gap.Newlines += g.Newlines
	gap.Inside = g.Inside
}

func gapOf(chunk []byte) observe.Gap {
	return observe.Gap{
		Bytes: int64(len(chunk)), Newlines: bytes.Count(chunk, []byte("\n")), Inside: chunk[len(chunk)-1] != '\n',
	}
}

// unseen returns events with the bytes among them turned into gaps.
func unseen(events []event) []event {
	q := newQueue(0)
	for _, e := range events {
		switch {
		case e.do != nil:
			q.add(e)
		case e.gap != nil:
			q.miss(e.at, e.dir, *e.gap)
		default:
			q.miss(e.at, e.dir, gapOf(e.data))
		}
	}
	return q.events
}

// do has f called by the taker, behind everything put so far. Its callers are
// few: it is never refused for want of room.
func (q *queue) do(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(event{do: f})
}

func (q *queue) add(e event) {
	if q.closed {
		return
	}
	q.size += len(e.data) + eventBytes
	q.events = append(q.events, e)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close ends the queue: what comes later is ignored.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.wake)
	}
}

// take waits for events and returns all there are, perhaps none; the room of
// those that it returned before is free from then on. open is false once the
// queue is closed and empty.
func (q *queue) take() (events []event, open bool) {
	<-q.wake
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size -= q.inHand
	q.inHand = q.size
	events = q.events
	q.events, q.gaps = nil, [3]*observe.Gap{}
	return events, len(events) > 0 || !q.closed
}
