package observe

import (
	"encoding/json"
	"strconv"
	"time"
)

// What pairing keeps at most, for each side that makes requests.
const (
	maxOpen    = 10_000 // requests in flight
	maxDone    = 4_096  // requests answered or cancelled lately
	maxMethods = 500    // methods counted by name
	maxSamples = 1_024  // latencies of a method, for its median and p95
)

// call is a request in flight.
type call struct {
	id     json.RawMessage
	value  float64 // the id's number, also of a string of digits
	number bool    // value is set
	method string
	line   int
	at     time.Time
	n      int   // of the requests asked
	maybe  bool  // its answer may have gone by unseen
	next   *call // a later one with the same id
}

// outcome is what became of a request.
type outcome struct {
	method    string
	line      int       // of the answer, or of the cancellation
	cancelled bool      // and not answered since
	at        time.Time // of the cancellation
	served    bool      // it was a subscription, ended by the side that served it
}

// half pairs the requests of one direction with their answers.
type half struct {
	open    map[string]*call
	count   int                // calls in open
	asked   int                // calls ever made
	done    map[string]outcome // by the key of the id
	recent  []string           // the keys of done, a ring
	next    int                // the oldest of recent
	methods map[string]*Method
	names   []string // the keys of methods, in order of appearance
	missed  bool     // requests went by unseen, or were too many to keep

	notes    int    // notifications sent
	lastNote string // the method of the last one
}

func newHalf() *half {
	return &half{open: map[string]*call{}, done: map[string]outcome{}, methods: map[string]*Method{}}
}

// idKey returns what two ids have in common when they are equal: the text of
// a number, the characters of a string.
func idKey(id json.RawMessage) string {
	var s string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &s) == nil {
		return `"` + s
	}
	return string(id)
}

// idValue returns the number that id is, or would be without its quotes.
func idValue(id json.RawMessage) (value float64, ok bool) {
	text := idKey(id)
	if len(text) > 0 && text[0] == '"' {
		text = text[1:]
	}
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// ask takes a request and returns the one in flight that has the same id, if
// any.
func (h *half) ask(it Item, line int, at time.Time) (same *call) {
	h.method(it.Method).Calls++
	h.asked++
	if h.count >= maxOpen {
		h.missed = true
		return nil
	}
	c := &call{id: it.ID, method: it.Method, line: line, at: at, n: h.asked}
	c.value, c.number = idValue(it.ID)
	key := idKey(it.ID)
	h.count++
	same = h.open[key]
	if same == nil {
		h.open[key] = c
		return nil
	}
	last := same
	for last.next != nil {
		last = last.next
	}
	last.next = c
	return same
}

// take removes and returns the oldest call in flight under key, or nil.
func (h *half) take(key string) *call {
	c := h.open[key]
	if c == nil {
		return nil
	}
	h.count--
	if c.next == nil {
		delete(h.open, key)
	} else {
		h.open[key] = c.next
	}
	return c
}

// alike returns the call in flight whose id has the same number as id without
// being equal to it: its type was changed, or its last digits were.
func (h *half) alike(id json.RawMessage) *call {
	value, ok := idValue(id)
	if !ok {
		return nil
	}
	var found *call
	for _, c := range h.open {
		if c.number && c.value == value && (found == nil || c.line < found.line) {
			found = c
		}
	}
	return found
}

// end remembers what became of a request.
func (h *half) end(key string, o outcome) {
	if _, known := h.done[key]; !known {
		if len(h.recent) < maxDone {
			h.recent = append(h.recent, key)
		} else {
			delete(h.done, h.recent[h.next])
			h.recent[h.next] = key
			h.next = (h.next + 1) % maxDone
		}
	}
	h.done[key] = o
}

// blind notes that answers may have gone by unseen.
func (h *half) blind() {
	for _, c := range h.open {
		for ; c != nil; c = c.next {
			c.maybe = true
		}
	}
}

// method returns the row of a method, or that of all the others when there
// are too many to tell apart.
func (h *half) method(name string) *Method {
	if m := h.methods[name]; m != nil {
		return m
	}
	if len(h.names) >= maxMethods {
		name = "(others)"
		if m := h.methods[name]; m != nil {
			return m
		}
	}
	m := &Method{Name: name}
	h.methods[name] = m
	h.names = append(h.names, name)
	return m
}
