package stdio

import (
	"errors"
	"io"

	"example.com/mcp/framing"
)

// numKinds is the number of kinds of messages.
const numKinds = int(framing.Batch) + 1

// Stats are the figures of a connection from its beginning, as of one moment.
type Stats struct {
	In, Out Traffic

	Syntax      int64 // Malformed lines that are no JSON
	InvalidUTF8 int64 // Malformed lines that are no UTF-8
	TooLong     int64 // Malformed lines longer than Options.MaxLine
	Truncated   int64 // Malformed last lines, cut off by the end of the stream

	Answered  int64 // responses written, those in batches one by one
	Refused   int64 // requests answered -32000 because the queue was full
	Dropped   int64 // notifications dropped because the queue was full
	Cancelled int64 // requests that the other side took back, and got no answer to
	Abandoned int64 // requests and refusals that the end of the connection left without an answer
	Unmatched int64 // responses that answered no call
	Late      int64 // responses to calls whose context had ended; not among Unmatched

	InFlight int // handlers running now
	Queued   int // requests and notifications waiting for one now
	Calls    int // calls waiting for their answer now

	owed int64 // responses that somebody has a right to, written or not
}

// Traffic counts what went in one direction.
type Traffic struct {
	Lines   int64           // lines that are not blank; outgoing frames
	Bytes   int64           // everything, terminators and blank lines included
	Kinds   [numKinds]int64 // lines by framing.Kind; the elements of a batch are not counted
	Largest int             // length of the longest line without its terminator; over-long lines do not count
}

// add counts what t holds and n bytes.
func (s *Traffic) add(t *tally, n int) {
	s.Bytes += int64(n)
	s.Largest = max(s.Largest, t.largest)
	for kind, count := range t.kinds {
		s.Lines += count
		s.Kinds[kind] += count
	}
}

// count counts a line that was read.
func (s *Stats) count(m *framing.Message) {
	s.In.Lines++
	s.In.Kinds[m.Kind]++
	if m.Kind == framing.Malformed {
		s.countClass(m.Err)
		if errors.Is(m.Err, framing.ErrTooLong) {
			return
		}
	}
	s.In.Largest = max(s.In.Largest, len(m.Line))
}

func (s *Stats) countClass(err error) {
	switch {
	case errors.Is(err, framing.ErrTooLong):
		s.TooLong++
	case errors.Is(err, framing.ErrInvalidUTF8):
		s.InvalidUTF8++
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.Truncated++
	default:
		s.Syntax++
	}
}

// Stats returns the figures so far. It may be called at any time from any goroutine.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	s, ended := c.stats, c.ended
	s.InFlight, s.Queued, s.Calls = c.queue.running-c.queue.ready.len(), c.queue.waiting.len(), len(c.calls)
	c.mu.Unlock()
	s.In.Bytes = c.in.bytes.Load()
	c.out.mu.Lock()
	s.Out, s.Answered = c.out.sent, c.out.answered
	c.out.mu.Unlock()
	if ended {
		s.Abandoned = s.owed - s.Answered - s.Cancelled
	}
	return s
}
