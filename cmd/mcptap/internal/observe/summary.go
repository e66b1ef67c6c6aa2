package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// maxInFlight is how many open requests a summary names; all are counted.
const maxInFlight = 20

// Summary is a session at one moment, or at its end.
type Summary struct {
	Command  []string  `json:"command,omitempty"`
	Took     Millis    `json:"took_ms,omitzero"`
	Streams  []Stream  `json:"streams"`
	Methods  []Method  `json:"methods,omitempty"`
	Open     int       `json:"in_flight"`
	InFlight []Open    `json:"open_requests,omitempty"` // the oldest ones
	End      *End      `json:"end,omitempty"`
	Findings []Finding `json:"-"`
}

// Stream counts what went in one direction. Lines is the sum of Messages,
// the blank and the unseen ones.
type Stream struct {
	Dir Dir `json:"dir,omitzero"`
	Raw
	Messages    map[string]int `json:"messages"` // by kind, the bad ones too
	Bad         map[string]int `json:"bad_lines,omitempty"`
	Largest     int64          `json:"largest_line_bytes"`
	LargestLine int            `json:"largest_line,omitempty"`
}

// BadLines returns the number of lines that were no messages.
func (s Stream) BadLines() (n int) {
	for _, k := range s.Bad {
		n += k
	}
	return n
}

// Method counts the calls of one method in one direction.
type Method struct {
	Dir       Dir     `json:"dir,omitzero"` // of the requests
	Name      string  `json:"method"`
	Calls     int     `json:"calls"`
	Errors    int     `json:"errors"`
	Cancelled int     `json:"cancelled"`
	Waited    Millis  `json:"cancelled_after_ms,omitzero"` // the longest wait that was cancelled
	Latency   *Spread `json:"latency,omitempty"`           // nil: none was answered, or times are unknown

	samples  []time.Duration // uniform over all answers, at most maxSamples
	answers  int
	min, max time.Duration
}

// Spread is the spread of a method's latencies. Beyond maxSamples answers
// the two in the middle are those of a uniform sample.
type Spread struct {
	Min    Millis `json:"min_ms"`
	Median Millis `json:"median_ms"`
	P95    Millis `json:"p95_ms"`
	Max    Millis `json:"max_ms"`
}

// Open is a request in flight.
type Open struct {
	Dir    Dir             `json:"dir,omitzero"`
	Line   int             `json:"line"`
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Since  time.Time       `json:"since,omitzero"`
	For    Millis          `json:"for_ms,omitzero"` // 0: unknown, see Tracker.Summary
}

// sample takes the latency of one answer (reservoir sampling).
func (m *Method) sample(d time.Duration) {
	if m.answers == 0 {
		m.min, m.max = d, d
	}
	m.min, m.max = min(m.min, d), max(m.max, d)
	m.answers++
	if len(m.samples) < maxSamples {
		m.samples = append(m.samples, d)
	} else if i := rand.IntN(m.answers); i < maxSamples {
		m.samples[i] = d
	}
}

// spread returns the spread of the latencies, nil if there are none.
func (m *Method) spread() *Spread {
	if m.answers == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(m.samples))
	at := func(percent int) Millis { return millis(s[(len(s)*percent+99)/100-1]) }
	return &Spread{Min: millis(m.min), Median: at(50), P95: at(95), Max: millis(m.max)}
}

// Summary returns the session as far as it was seen. With final, the session
// is over: requests still open are findings then. Without, and if now is zero, as
// with the log of a session that goes on, nobody knows for how long they have been.
func (t *Tracker) Summary(now time.Time, final bool) Summary {
	t.clock(now)
	s := Summary{Command: t.command, Took: millis(t.now.Sub(t.start)), End: t.end}
	for d := range t.halves {
		if c := t.seen[d]; t.raw[d] != (Raw{}) || len(c.kinds) > 0 {
			s.Streams = append(s.Streams, t.stream(Dir(d)))
		}
	}
	fs := t.found.clone()
	for _, h := range t.held {
		fs.release(h.lines)
	}
	for d, h := range t.halves {
		s.Methods = append(s.Methods, h.rows(Dir(d))...)
		s.Open += h.count
	}
	open := t.openCalls(final || !now.IsZero())
	for _, o := range open[:min(len(open), maxInFlight)] {
		s.InFlight = append(s.InFlight, o.Open)
	}
	if final {
		t.unanswered(fs, open)
	}
	s.Findings = fs.sorted()
	return s
}

func (t *Tracker) stream(d Dir) Stream {
	c, raw := t.seen[d], t.raw[d]
	if raw.Lines < c.lines { // a log tells them at the end of the stream: it has not come
		raw = c.raw()
	}
	return Stream{
		Dir: d, Raw: raw, Messages: maps.Clone(c.kinds), Bad: maps.Clone(c.bad),
		Largest: c.largest, LargestLine: c.largestLine,
	}
}

// raw returns what the entries tell of the bytes.
func (c counts) raw() Raw {
	raw := Raw{Bytes: c.bytes, Lines: c.lines, CRLF: c.crlf, Blank: c.lines}
	for _, n := range c.kinds {
		raw.Blank -= n
	}
	raw.Bytes += int64(raw.Blank)
	return raw
}

// rows returns the methods in order of appearance.
func (h *half) rows(d Dir) []Method {
	var rows []Method
	for _, name := range h.names {
		m := *h.methods[name]
		m.Dir, m.Latency, m.samples = d, m.spread(), nil
		rows = append(rows, m)
	}
	return rows
}

type openCall struct {
	Open
	maybe bool
	n     int // of all requests of its direction
}

// openCalls returns the requests in flight, oldest first. For how long is told
// if the time is known.
func (t *Tracker) openCalls(known bool) []openCall {
	var open []openCall
	for d, h := range t.halves {
		for _, c := range h.open {
			for ; c != nil; c = c.next {
				o := openCall{Open{Dir: Dir(d), Line: c.line, Method: c.method, ID: c.id, Since: c.at}, c.maybe, c.n}
				if !c.at.IsZero() && known {
					o.For = millis(t.now.Sub(c.at))
				}
				open = append(open, o)
			}
		}
	}
	slices.SortFunc(open, func(a, b openCall) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.n, b.n))
	})
	return open
}

// unanswered adds a finding for each request that is open at the end. If the
// server died, that is the finding, and its open requests are the details.
func (t *Tracker) unanswered(fs findings, open []openCall) {
	died := t.end != nil && (t.end.Alone || t.end.Failed)
	for _, o := range open {
		text := fmt.Sprintf("%s (id %s), open for %v", Printable([]byte(o.Method), 60), Printable(o.ID, 60), o.For)
		switch {
		case o.maybe: // its answer may be among what was not seen
		case t.unanswerable(o): // nobody was to answer it
		case died && o.Dir == ToServer:
			fs.add(ServerEnded, o.Dir, o.Line, "%s; %s", text, t.end.Status)
		default:
			fs.add(NeverAnswered, o.Dir, o.Line, "%s%s", text, t.perhaps(o))
		}
	}
}

// perhaps says what may have become of the answer to o: a broken line that came
// while it was open, whose id nobody knows, or bytes in a buffer that a server
// which was killed never wrote.
func (t *Tracker) perhaps(o openCall) string {
	back := o.Dir.Back()
	c := t.seen[back]
	switch {
	case c.broken > 0 && !c.brokenAt.Before(o.Since):
		return fmt.Sprintf("; perhaps the broken %s line %d was its answer", back.Writer(), c.broken)
	case back == ToClient && c.lines == 0 && t.raw[back].Bytes == 0:
		return "; the server wrote nothing at all: does it flush its stdout?"
	}
	return ""
}

// unanswerable reports whether o is open at the end by right: a subscription,
// unless the server died on it, or what a server asked when the client's stream
// had ended.
func (t *Tracker) unanswerable(o openCall) bool {
	if o.Dir == ToClient {
		return !t.asked.IsZero() && !o.Since.Before(t.asked)
	}
	return o.Method == subscribe && (t.end == nil || !t.end.Alone)
}
