// Package observe looks at the two streams of an MCP session and says what
// was on them: one Entry a line, the requests paired with their answers,
// counts, and findings in plain words. It does no I/O, starts nothing and
// reads no clock: the caller hands it bytes together with their times, so the
// same code serves a live session, a capture and a plain file.
//
// A Scanner turns the bytes of one direction into entries. A Tracker takes
// the entries of both directions and needs nothing else, which is why a log
// of entries can be read back to the same summary and findings. An Observer
// ties the two together.
//
// Everything kept is bounded: a line by the limit, the rest by the constants
// beside the code that keeps it. None of the types may be used by several
// goroutines at once.
package observe

import (
	"encoding/json"
	"fmt"
	"time"
)

// Dir is the way a stream runs.
type Dir uint8

const (
	Unknown  Dir = iota // a plain file: nobody says who wrote it
	ToServer            // what the client wrote
	ToClient            // what the server wrote
)

var dirNames = [...]string{"", "to-server", "to-client"}

// String returns the name that records use.
func (d Dir) String() string { return dirNames[d] }

// Writer returns who wrote the stream, for sentences.
func (d Dir) Writer() string { return [...]string{"writer", "client", "server"}[d] }

// Back returns the direction in which answers to d's requests travel.
func (d Dir) Back() Dir { return [...]Dir{Unknown, ToClient, ToServer}[d] }

// MarshalText implements encoding.TextMarshaler.
func (d Dir) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Dir) UnmarshalText(text []byte) error {
	for i, name := range dirNames {
		if name == string(text) {
			*d = Dir(i)
			return nil
		}
	}
	return fmt.Errorf("direction %q is neither to-server nor to-client", text)
}

// Millis is a duration in milliseconds, as records and summaries write it.
type Millis float64

func millis(d time.Duration) Millis { return Millis(float64(d.Microseconds()) / 1000) }

// String returns m with a unit that suits its size.
func (m Millis) String() string {
	switch {
	case m < 10:
		return fmt.Sprintf("%.2fms", float64(m))
	case m < 10_000:
		return fmt.Sprintf("%.0fms", float64(m))
	}
	return fmt.Sprintf("%.1fs", float64(m)/1000)
}

// Item is one JSON-RPC message, alone on its line or one of several.
type Item struct {
	Kind    string          `json:"kind"`                // framing.Kind's name
	As      string          `json:"as,omitempty"`        // what a bad line was meant to be, for pairing
	ID      json.RawMessage `json:"id,omitempty"`        // as on the wire; cut and hashed if very long
	Method  string          `json:"method,omitempty"`    // of a response: that of its request
	Code    json.Number     `json:"code,omitempty"`      // of an error response
	Cancels json.RawMessage `json:"cancels,omitempty"`   // the id that a cancellation names
	Latency Millis          `json:"latency_ms,omitzero"` // from request to answer
}

// Entry is one line that was not blank.
type Entry struct {
	Time time.Time `json:"time,omitzero"`
	Dir  Dir       `json:"dir,omitzero"`
	Line int       `json:"line"` // counted from 1, blank lines included
	Item
	Bytes        int64    `json:"bytes"` // without the terminator
	CRLF         bool     `json:"crlf,omitempty"`
	Unterminated bool     `json:"unterminated,omitempty"` // the stream ended before its newline
	Fault        *Fault   `json:"fault,omitempty"`
	Items        []Item   `json:"items,omitempty"`      // the messages inside, when the line is not exactly one
	MoreItems    int      `json:"more_items,omitempty"` // those beyond maxItems
	BOM          bool     `json:"bom,omitempty"`        // the stream began with one
	Variants     []string `json:"variants,omitempty"`   // member names such as "Method"
	PartOf       int      `json:"part_of,omitempty"`    // line where the message began that this line seems to continue
	Completes    bool     `json:"completes,omitempty"`  // and with this line it is whole
}

// Bad reports whether the line is no JSON-RPC message.
func (e *Entry) Bad() bool { return e.Fault != nil }

// Fault says what is wrong with a line.
type Fault struct {
	Class   string `json:"class"`             // syntax, utf-8, too-long, unfinished or invalid
	Sort    Code   `json:"sort"`              // the finding it leads to
	Reason  string `json:"reason"`            // in the words of package framing
	Offset  int    `json:"offset"`            // byte in the line
	Excerpt string `json:"excerpt,omitempty"` // the line around it, printable ASCII only
	Caret   int    `json:"caret"`             // column of the spot in Excerpt
}

// Event is what happens to a session besides lines.
type Event struct {
	Time    time.Time `json:"time,omitzero"`
	Name    string    `json:"event"` // EventStart, EventGap, EventEOF or EventEnd
	Dir     Dir       `json:"dir,omitzero"`
	Command []string  `json:"command,omitempty"`
	Gap     *Gap      `json:"gap,omitempty"`
	Raw     *Raw      `json:"counts,omitempty"`
	End     *End      `json:"end,omitempty"`
}

// The names of events.
const (
	EventStart = "start" // the server was started
	EventGap   = "gap"   // bytes went by unseen
	EventEOF   = "eof"   // a direction ended; Raw has its counts
	EventEnd   = "end"   // the server ended
)

// Gap is a stretch of a stream that passed unobserved.
type Gap struct {
	Bytes    int64 `json:"bytes"`
	Newlines int   `json:"newlines"`
	Inside   bool  `json:"inside_line"` // its last byte was not a newline
}

// Raw counts what only the bytes show.
type Raw struct {
	Bytes       int64 `json:"bytes"`
	Lines       int   `json:"lines"`
	Reads       int   `json:"reads"`
	SplitReads  int   `json:"split_reads"` // reads that ended inside a line
	CRLF        int   `json:"crlf_lines"`
	Blank       int   `json:"blank_lines"`
	Partial     int64 `json:"unfinished_bytes,omitempty"` // behind the last newline, so far
	UnseenBytes int64 `json:"unseen_bytes"`
	UnseenLines int   `json:"unseen_lines"`
}

// End is how the server ended.
type End struct {
	Status string   `json:"status"`           // as os.ProcessState says it, e.g. "exit status 3"
	Alone  bool     `json:"alone"`            // nobody had closed its stdin or sent it a signal
	Failed bool     `json:"failed"`           // the status is not 0
	Stderr []string `json:"stderr,omitempty"` // its last lines there
}
