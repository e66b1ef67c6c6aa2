package observe

import (
	"fmt"
	"time"
)

// maxHeld bounds the bad lines whose findings wait to see whether they are
// one message together; joiner gives up at the same number.
const maxHeld = maxJoinLines

// flushWait is how long a request must have waited, when the client's stream
// ended, for an answer that comes then to have been held back.
const flushWait = 500 * time.Millisecond

// A Tracker follows a session by its entries and events: it pairs requests
// with answers, counts, and collects findings. The zero value is not ready;
// NewTracker makes one.
type Tracker struct {
	halves [3]*half // by the direction of the requests
	seen   [3]counts
	raw    [3]Raw
	held   [3]held
	found  findings

	asked   time.Time // when the client's stream ended
	written bool      // the server wrote something before

	command    []string
	start, now time.Time // of the first and of the last thing seen
	end        *End
}

// counts is what entries add up to in one direction.
type counts struct {
	kinds       map[string]int
	bad         map[string]int
	lines       int   // up to the last one seen, blank ones too
	bytes       int64 // of those that are not blank, terminators included
	crlf        int
	largest     int64
	largestLine int
	broken      int       // the last line that was meant as a message and is no JSON, 0: none
	brokenAt    time.Time // when it came
}

// held is a run of bad lines that may be one message.
type held struct {
	first int
	lines []*Entry
}

// NewTracker returns a Tracker that has seen nothing.
func NewTracker() *Tracker {
	t := &Tracker{found: findings{}}
	for d := range t.halves {
		t.halves[d] = newHalf()
		t.seen[d] = counts{kinds: map[string]int{}, bad: map[string]int{}}
	}
	return t
}

// Add takes the next line of either direction and fills in what the other
// lines tell about it: the method that a response answers, and its latency.
func (t *Tracker) Add(e *Entry) {
	t.clock(e.Time)
	t.count(e)
	t.written = t.written || e.Dir == ToClient && t.asked.IsZero()
	t.inspect(e)
	if len(e.Items) == 0 {
		t.pair(&e.Item, e)
	}
	for i := range e.Items {
		t.pair(&e.Items[i], e)
	}
	if e.MoreItems > 0 { // nobody knows what they asked and answered
		t.halves[e.Dir].missed = true
		t.halves[e.Dir.Back()].blind()
	}
}

// Event takes what happened besides lines.
func (t *Tracker) Event(ev *Event) {
	t.clock(ev.Time)
	switch {
	case ev.Name == EventStart:
		t.command = ev.Command
	case ev.Name == EventEOF && ev.Raw != nil:
		t.raw[ev.Dir] = *ev.Raw
		if ev.Dir == ToServer {
			t.asked = ev.Time
		}
	case ev.Name == EventEnd:
		t.end = ev.End
	case ev.Name == EventGap && ev.Gap != nil:
		t.halves[ev.Dir].missed = true
		t.halves[ev.Dir.Back()].blind()
		t.written = true // perhaps
		t.found.add(Unseen, ev.Dir, 0, "%d bytes, and the ends of lines in them: %d", ev.Gap.Bytes, ev.Gap.Newlines)
	}
}

// SetRaw sets the byte counts of a direction, while it has not ended yet.
func (t *Tracker) SetRaw(d Dir, raw Raw) { t.raw[d] = raw }

func (t *Tracker) clock(at time.Time) {
	if t.start.IsZero() {
		t.start = at
	}
	if at.After(t.now) {
		t.now = at
	}
}

func (t *Tracker) count(e *Entry) {
	c := &t.seen[e.Dir]
	c.kinds[e.Kind]++
	if e.Fault != nil {
		c.bad[e.Fault.Class]++
		if s := e.Fault.Sort; s == BadJSON || s == InvalidUTF8 || s == UTF16 {
			c.broken, c.brokenAt = e.Line, e.Time
		}
	}
	c.lines = max(c.lines, e.Line)
	c.bytes += e.Bytes
	if !e.Unterminated {
		c.bytes++
	}
	if e.CRLF {
		c.bytes++
		c.crlf++
	}
	if e.Bytes > c.largest {
		c.largest, c.largestLine = e.Bytes, e.Line
	}
}

// inspect collects what is wrong with the line by itself.
func (t *Tracker) inspect(e *Entry) {
	if e.BOM {
		t.found.add(BOM, e.Dir, e.Line, "at the very start of the stream (EF BB BF)")
	}
	for _, name := range e.Variants {
		t.found.add(CaseVariant, e.Dir, e.Line, "%q in a %s", name, describe(e.Item))
	}
	if e.Unterminated {
		t.found.add(Unterminated, e.Dir, e.Line, "%s", rest(e))
	}
	h := &t.held[e.Dir]
	if e.PartOf != h.first || e.Completes {
		lines := h.lines
		*h = held{}
		if e.Completes {
			t.found.add(Broken, e.Dir, e.PartOf, "lines %d to %d are one %s", e.PartOf, e.Line, describe(e.inside()))
			return
		}
		t.found.release(lines)
	}
	if e.PartOf != 0 && !e.Unterminated && len(h.lines) < maxHeld {
		h.first = e.PartOf
		h.lines = append(h.lines, e)
		return
	}
	if !t.notePaired(e) {
		t.found.fault(e)
	}
}

// notePaired reports whether e is what a server sends that answers a
// notification: a result without an id. Pairing says so, and in better words
// than "no JSON-RPC message".
func (t *Tracker) notePaired(e *Entry) bool {
	return e.Fault != nil && e.Fault.Sort == NotJSONRPC && e.As == "response" && noID(e.Item) && t.halves[e.Dir.Back()].notes > 0 && e.Dir != Unknown
}

// release takes the faults of lines that turned out not to be one message.
func (fs findings) release(lines []*Entry) {
	for _, e := range lines {
		fs.fault(e)
	}
}

// fault takes the fault of e, if it has one.
func (fs findings) fault(e *Entry) {
	f := e.Fault
	switch {
	case f == nil, e.Unterminated && f.Class == ClassUnfinished: // said by Unterminated
	case f.Sort == Text:
		fs.add(f.Sort, e.Dir, e.Line, "\"%s\"", f.Excerpt)
	case f.Sort == TwoMessages && len(e.Items) > 1:
		fs.add(f.Sort, e.Dir, e.Line, "%s, then %s", describe(e.Items[0]), describe(e.Items[1]))
	default:
		fs.add(f.Sort, e.Dir, e.Line, "%s, at byte %d: %s", f.Reason, f.Offset, f.Excerpt)
	}
}

// inside returns the message that e's line completes.
func (e *Entry) inside() Item {
	if len(e.Items) > 0 {
		return e.Items[0]
	}
	return e.Item
}

// rest describes a line that the end of the stream cut off.
func rest(e *Entry) string {
	if e.Fault == nil {
		return fmt.Sprintf("a whole %s of %d bytes", describe(e.Item), e.Bytes)
	}
	return fmt.Sprintf("%d bytes: %s", e.Bytes, e.Fault.Excerpt)
}

// describe names a message in a sentence, by what is on the wire: the method of
// a response is not, though a log tells it.
func describe(it Item) string {
	kind := it.Kind
	if it.As != "" {
		kind += " " + it.As
	}
	if it.Method != "" && it.Kind != "response" && it.As != "response" {
		kind += " " + Printable([]byte(it.Method), 60)
	}
	if !noID(it) {
		kind += fmt.Sprintf(" (id %s)", Printable(it.ID, 60))
	}
	return kind
}

func noID(it Item) bool { return len(it.ID) == 0 || string(it.ID) == "null" }

// pair takes one message of e's line.
func (t *Tracker) pair(it *Item, e *Entry) {
	kind := it.Kind
	if it.As != "" {
		kind = it.As
	}
	mine := t.halves[e.Dir]
	switch kind {
	case "request":
		if same := mine.ask(*it, e.Line, e.Time); same != nil {
			t.found.add(IDReused, e.Dir, e.Line, "%s: line %d asked %s with this id and waits for its answer", describe(*it), same.line, same.name())
		}
	case "notification":
		mine.notes++
		mine.lastNote = it.Method
		if it.Cancels != nil && !mine.cancel(idKey(it.Cancels), e) {
			t.halves[e.Dir.Back()].unsubscribe(idKey(it.Cancels), e)
		}
	case "response":
		t.answer(it, e)
	}
}

func (c *call) name() string { return Printable([]byte(c.method), 60) }

// cancel reports whether there was such a request.
func (h *half) cancel(key string, e *Entry) bool {
	c := h.take(key)
	if c == nil {
		return false
	}
	m := h.method(c.method)
	m.Cancelled++
	if !e.Time.IsZero() && !c.at.IsZero() {
		m.Waited = max(m.Waited, millis(e.Time.Sub(c.at)))
	}
	h.end(key, outcome{method: c.method, line: e.Line, cancelled: true, at: e.Time})
	return true
}

// subscribe is the request that stays open on purpose: until the client cancels
// it, or the server does, with an answer or without, or the connection ends (MCP
// 2026-07-28 subscriptions).
const subscribe = "subscriptions/listen"

// unsubscribe takes the cancellation of a subscription by the side that serves
// it; an answer may still follow.
func (h *half) unsubscribe(key string, e *Entry) {
	if c := h.open[key]; c != nil && c.method == subscribe {
		h.take(key)
		h.end(key, outcome{method: c.method, line: e.Line, served: true})
	}
}

// answer pairs a response with its request.
func (t *Tracker) answer(it *Item, e *Entry) {
	h := t.halves[e.Dir.Back()]
	if noID(*it) {
		t.answerNobody(it, e, h)
		return
	}
	key := idKey(it.ID)
	c := h.take(key)
	if c == nil {
		if c = t.answerAlike(it, e, h); c == nil {
			t.answerLate(it, e, h, key)
			return
		}
	}
	m := h.method(c.method)
	if it.Code != "" {
		m.Errors++
	}
	if !e.Time.IsZero() && !c.at.IsZero() {
		took := e.Time.Sub(c.at)
		it.Latency = millis(took)
		m.sample(took)
		t.flushed(it, e, c)
	}
	it.Method = c.method
	h.end(idKey(c.id), outcome{method: c.method, line: e.Line})
}

// flushed sees whether an answer came only because the server's stdin ended: it
// is in the nature of a buffered stdout that everything does. A server that is
// merely slow will have written something before.
func (t *Tracker) flushed(it *Item, e *Entry, c *call) {
	if e.Dir != ToClient || t.written || t.asked.IsZero() {
		return
	}
	if wait := t.asked.Sub(c.at); wait >= flushWait {
		t.found.add(NotFlushed, e.Dir, e.Line, "%s (id %s) had waited for %v", c.name(), Printable(it.ID, 60), millis(wait))
	}
}

// answerNobody takes a response without an id: the answer to what could not
// be read, or to a notification.
func (t *Tracker) answerNobody(it *Item, e *Entry, h *half) {
	refused := it.Code == "-32700" || it.Code == "-32600"
	switch {
	case refused && len(t.seen[e.Dir.Back()].bad) > 0: // and rightly so
	case refused:
		t.found.add(NotRead, e.Dir, e.Line, "error %s with no id", it.Code)
	case h.notes > 0:
		t.found.add(NoteAnswered, e.Dir, e.Line, "a response without an id; the last notification was %s", Printable([]byte(h.lastNote), 60))
	case !h.missed:
		t.found.add(Unasked, e.Dir, e.Line, "a response without an id")
	}
}

// answerAlike takes an answer whose id is nearly that of an open request, and
// returns the request.
func (t *Tracker) answerAlike(it *Item, e *Entry, h *half) *call {
	c := h.alike(it.ID)
	if c == nil {
		return nil
	}
	code := IDRounded
	if (it.ID[0] == '"') != (c.id[0] == '"') {
		code = IDType
	}
	t.found.add(code, e.Dir, e.Line, "id %s answers the %s of line %d, whose id is %s",
		Printable(it.ID, 60), c.name(), c.line, Printable(c.id, 60))
	return h.take(idKey(c.id))
}

// answerLate takes an answer to what is not in flight any more, or never was.
func (t *Tracker) answerLate(it *Item, e *Entry, h *half, key string) {
	o, known := h.done[key]
	if known {
		it.Method = o.method
	}
	id, method := Printable(it.ID, 60), Printable([]byte(o.method), 60)
	switch {
	case o.served:
		h.end(key, outcome{method: o.method, line: e.Line})
	case o.cancelled:
		t.found.add(AfterCancel, e.Dir, e.Line, "id %s (%s), cancelled on line %d, %v before", id, method, o.line, millis(e.Time.Sub(o.at)))
		h.end(key, outcome{method: o.method, line: e.Line})
	case known:
		t.found.add(AnsweredTwice, e.Dir, e.Line, "id %s (%s), answered already on line %d", id, method, o.line)
	case !h.missed:
		t.found.add(Unasked, e.Dir, e.Line, "id %s: no request with this id", id)
	}
}
