package stdio

import "math"

// job is one request or notification on its way from the read loop to a handler.
type job struct {
	Request
	ctx       requestContext
	batch     *batch // whose answer waits for this one's; nil: none
	size      int    // bytes of its line
	number    int64  // in the order of arrival, from 1
	fence     bool   // nothing behind it starts before it is done
	cancelled bool   // by the other side: nothing is written for it. Guarded by Conn.mu
}

// queue decides what starts when. A job waits, is made ready (it then has its place among the running ones, and a
// goroutine comes for it), and runs. The goroutines take ready jobs in order whichever of them is first, so jobs start in
// the order of arrival even though the scheduler wakes goroutines in another. Conn.mu guards all of it.
//
//	running = ready.len() + handlers that run <= maxRunning
type queue struct {
	maxRunning int
	maxWaiting int
	maxBytes   int

	waiting fifo
	ready   fifo
	bytes   int  // of the lines of waiting
	running int  // places taken
	fence   bool // a job that lets nothing pass is ready or runs

	last  int64 // number of the last job
	old   int64 // jobs up to this number are not fresh
	fresh int   // jobs with a higher number that are not done
}

// newQueue returns the queue that o asks for.
func newQueue(o *Options, maxLine int) queue {
	q := queue{maxRunning: o.MaxInFlight, maxWaiting: max(o.MaxQueued, 0), maxBytes: math.MaxInt}
	if maxLine > 0 && maxLine < math.MaxInt/4 {
		q.maxBytes = 4 * maxLine
	}
	return q
}

// open reports whether the next job may start.
func (q *queue) open() bool { return !q.fence && q.running < q.maxRunning }

// push takes j in and reports whether there was room.
func (q *queue) push(j *job) bool {
	if !q.open() && (q.waiting.len() >= q.maxWaiting || q.bytes+j.size > q.maxBytes) {
		return false
	}
	q.last++
	j.number = q.last
	q.fresh++
	q.waiting.push(j)
	q.bytes += j.size
	return true
}

// grant makes ready whatever may start and returns how many that are.
func (q *queue) grant() int {
	n := 0
	for ; q.open() && q.waiting.len() > 0; n++ {
		j := q.waiting.pop()
		q.bytes -= j.size
		q.running++
		q.fence = j.fence
		q.ready.push(j)
	}
	return n
}

// done gives the place of j back.
func (q *queue) done(j *job) {
	q.running--
	if j.fence {
		q.fence = false
	}
	q.leave(j)
}

func (q *queue) leave(j *job) {
	if j.number > q.old {
		q.fresh--
	}
}

// age makes all jobs so far not fresh.
func (q *queue) age() { q.old, q.fresh = q.last, 0 }

// remove takes j out if it still waits, and reports whether it did.
func (q *queue) remove(j *job) bool {
	if !q.waiting.remove(j) {
		return false
	}
	q.bytes -= j.size
	q.leave(j)
	return true
}

// idle reports whether nothing waits or runs.
func (q *queue) idle() bool { return q.running == 0 && q.waiting.len() == 0 }

// fifo is a first-in, first-out list of jobs: jobs[head:] are in it, jobs[:head] are nil.
type fifo struct {
	jobs []*job
	head int
}

func (f *fifo) len() int { return len(f.jobs) - f.head }

func (f *fifo) push(j *job) {
	// Moving down only when half the list is free keeps push and pop at constant cost.
	if len(f.jobs) == cap(f.jobs) && f.head > len(f.jobs)/2 {
		n := copy(f.jobs, f.jobs[f.head:])
		clear(f.jobs[n:])
		f.jobs, f.head = f.jobs[:n], 0
	}
	f.jobs = append(f.jobs, j)
}

func (f *fifo) pop() *job {
	j := f.jobs[f.head]
	f.jobs[f.head] = nil
	f.head++
	if f.head == len(f.jobs) {
		f.jobs, f.head = f.jobs[:0], 0
	}
	return j
}

func (f *fifo) remove(j *job) bool {
	for i := f.head; i < len(f.jobs); i++ {
		if f.jobs[i] == j {
			copy(f.jobs[i:], f.jobs[i+1:])
			f.jobs[len(f.jobs)-1] = nil
			f.jobs = f.jobs[:len(f.jobs)-1]
			return true
		}
	}
	return false
}
