// Package show prints what package observe saw: for people as aligned rows,
// a summary and findings, for machines as one JSON object a line.
//
// Whatever came off the wire is printed as escaped ASCII: a column is a byte,
// and nothing that a server writes can steer the terminal.
package show

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// A Printer prints a session. JSON printers write one object a line.
type Printer interface {
	File(name string)        // what follows is from this file
	Entry(e *observe.Entry)  // one line
	Event(ev *observe.Event) // what happened besides lines
	Summary(s observe.Summary)
	Note(line string) // what mcptap itself has to say
	Flush() error     // the first error of writing, if there was one
}

// New returns a Printer to w: JSON, or rows, coloured if asked for.
func New(w io.Writer, json, colour bool) Printer {
	if json {
		return newJSON(w)
	}
	return &text{w: bufio.NewWriter(w), colour: colour}
}

// text prints for people.
type text struct {
	w       *bufio.Writer
	colour  bool
	start   time.Time // times are shown as seconds since then
	running int       // sessions that have started and not ended
}

// The columns of a row. Ids and methods that are longer are cut.
const (
	idWidth     = 12
	methodWidth = 30
)

func (t *text) File(name string) { fmt.Fprintf(t.w, "%s:\n", observe.Printable([]byte(name), 200)) }

func (t *text) Note(line string) { fmt.Fprintln(t.w, line) }

func (t *text) Flush() error { return t.w.Flush() }

func (t *text) Event(ev *observe.Event) {
	t.sessions(ev)
	t.clock(ev.Time)
	switch {
	case ev.Name == observe.EventStart:
		fmt.Fprintf(t.w, "-- started: %s\n", commandLine(ev.Command))
	case ev.Name == observe.EventGap && ev.Gap != nil:
		fmt.Fprintf(t.w, "-- %s: %d bytes went by unseen\n", ev.Dir, ev.Gap.Bytes)
	case ev.Name == observe.EventEnd && ev.End != nil:
		fmt.Fprintf(t.w, "-- server ended: %s\n", observe.Printable([]byte(ev.End.Status), 100))
	}
}

// sessions begins the time anew with each session that comes after the others in
// a log. Those that overlap share one.
func (t *text) sessions(ev *observe.Event) {
	switch {
	case ev.Name == observe.EventStart && t.running == 0:
		t.start, t.running = ev.Time, 1
	case ev.Name == observe.EventStart:
		t.running++
	case ev.Name == observe.EventEnd:
		t.running = max(0, t.running-1)
	}
}

func (t *text) clock(at time.Time) {
	if t.start.IsZero() {
		t.start = at
	}
}

func commandLine(command []string) string {
	return observe.Printable([]byte(strings.Join(command, " ")), 200)
}

func (t *text) Entry(e *observe.Entry) {
	t.clock(e.Time)
	if !e.Time.IsZero() {
		fmt.Fprintf(t.w, "%9.3f ", e.Time.Sub(t.start).Seconds())
	}
	if e.Dir != observe.Unknown {
		fmt.Fprintf(t.w, "%c ", [...]byte{' ', '>', '<'}[e.Dir])
	}
	t.row(e)
	if e.Fault != nil {
		t.fault(e)
	}
}

func (t *text) row(e *observe.Entry) {
	note := note(e)
	if note != "" {
		note = "  " + note
	}
	fmt.Fprintf(t.w, "%6d  %s  %-*s  %-*s %9d B%s\n", e.Line, t.kind(e),
		idWidth, observe.Printable(e.ID, idWidth-3), methodWidth, method(e.Item), e.Bytes, note)
}

// method returns the method, or what the response answers.
func method(it observe.Item) string {
	name := observe.Printable([]byte(it.Method), methodWidth-3)
	if it.Kind != "response" && it.As != "response" {
		return name
	}
	if it.Method == "" {
		name = "?"
	}
	return "to " + name
}

// insideShown is how many of the messages inside a line are named.
const insideShown = 3

// inside says what a line holds that is not exactly one message.
func inside(e *observe.Entry) string {
	n := len(e.Items) + e.MoreItems
	var names []string
	for _, it := range e.Items[:min(len(e.Items), insideShown)] {
		names = append(names, cmp.Or(method(it), it.Kind))
	}
	if n > insideShown {
		names = append(names, "...")
	}
	return fmt.Sprintf("%d inside: %s", n, strings.Join(names, ", "))
}

func note(e *observe.Entry) string {
	var notes []string
	if e.Code != "" {
		notes = append(notes, "error "+string(e.Code))
	}
	if e.Latency != 0 {
		notes = append(notes, e.Latency.String())
	}
	if len(e.Items) > 0 && e.PartOf == 0 {
		notes = append(notes, inside(e))
	}
	if e.Completes {
		notes = append(notes, fmt.Sprintf("ends a message that began on line %d", e.PartOf))
	}
	if e.Unterminated {
		notes = append(notes, "no newline at the end")
	}
	return strings.Join(notes, ", ")
}

// fault prints the reason, the spot and a caret under it.
func (t *text) fault(e *observe.Entry) {
	const margin = "        "
	fmt.Fprintf(t.w, "%s%s (byte %d)\n", margin, t.paint(red, observe.Printable([]byte(e.Fault.Reason), 300)), e.Fault.Offset)
	if excerpt := observe.Printable([]byte(e.Fault.Excerpt), 200); excerpt != "" { // a log may come from anywhere
		fmt.Fprintf(t.w, "%s%s\n%s%s%s\n", margin, excerpt,
			margin, strings.Repeat(" ", max(0, min(e.Fault.Caret, len(excerpt)))), t.paint(red, "^"))
	}
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
)

func (t *text) kind(e *observe.Entry) string {
	padded := fmt.Sprintf("%-12s", observe.Printable([]byte(e.Kind), 12))
	switch {
	case e.Bad():
		return t.paint(red, padded)
	case e.Code != "":
		return t.paint(yellow, padded)
	case e.Kind == "request":
		return t.paint(cyan, padded)
	case e.Kind == "response":
		return t.paint(green, padded)
	}
	return padded
}

func (t *text) paint(colour, s string) string {
	if !t.colour {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
