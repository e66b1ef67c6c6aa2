package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

var at = time.Unix(1_800_000_000, 0)

// print returns what f prints as text.
func print(f func(Printer)) string {
	var b strings.Builder
	p := New(&b, false, false)
	f(p)
	p.Flush()
	return b.String()
}

// TestRows: every sort of row, with its times, notes and columns.
func TestRows(t *testing.T) {
	item := func(kind, id, method string) observe.Item {
		return observe.Item{Kind: kind, ID: json.RawMessage(id), Method: method}
	}
	failed := item("response", `"a-long-id-of-many-letters"`, "tools/call")
	failed.Code, failed.Latency = "-32602", 1.5
	broken := &observe.Fault{Reason: "text", Offset: 2, Excerpt: "a\x1bb", Caret: 9}
	got := print(func(p Printer) {
		p.Event(&observe.Event{Time: at, Name: observe.EventStart, Command: []string{"server", "\x1b[2J"}})
		p.Entry(&observe.Entry{Time: at, Dir: observe.ToServer, Line: 1, Item: item("request", "7", "a/method/of/more/than/thirty/characters"), Bytes: 99})
		p.Entry(&observe.Entry{Time: at.Add(time.Second), Dir: observe.ToClient, Line: 12, Item: failed, Bytes: 1})
		p.Entry(&observe.Entry{Time: at, Dir: observe.ToClient, Line: 13, Item: item("response", "8", ""), Bytes: 1, Unterminated: true})
		p.Entry(&observe.Entry{Line: 2, Item: item("malformed", "", ""), Fault: broken})
		p.Entry(&observe.Entry{Line: 3, Item: item("malformed", "", ""), Fault: broken, PartOf: 2, Completes: true, Items: make([]observe.Item, 1)})
		p.Entry(&observe.Entry{Line: 4, Item: item("batch", "", ""), Items: []observe.Item{item("request", "1", "ping"), item("response", "2", "\x1b"), item("invalid", "", "")}})
		p.Entry(&observe.Entry{Line: 5, Item: item("batch", "", ""), Items: make([]observe.Item, 1000), MoreItems: 5})
		p.Event(&observe.Event{Name: observe.EventGap, Dir: observe.ToClient, Gap: &observe.Gap{Bytes: 9}})
		p.Event(&observe.Event{Name: observe.EventEOF, Dir: observe.ToClient})
		p.Event(&observe.Event{Name: observe.EventEnd, End: &observe.End{Status: "\x1bexit"}})
		p.Note("a note")
		p.File("a\nb")
	})
	want := `-- started: server \x1b[2J
    0.000 >      1  request       7             a/method/of/more/than/thirt...        99 B
    1.000 <     12  response      "a-long-i...  to tools/call                          1 B  error -32602, 1.50ms
    0.000 <     13  response      8             to ?                                   1 B  no newline at the end
     2  malformed                                                          0 B
        text (byte 2)
        a\x1bb
              ^
     3  malformed                                                          0 B  ends a message that began on line 2
        text (byte 2)
        a\x1bb
              ^
     4  batch                                                              0 B  3 inside: ping, to \x1b, invalid
     5  batch                                                              0 B  1005 inside: , , , ...
-- to-client: 9 bytes went by unseen
-- server ended: \x1bexit
a note
a\x0ab:
`
	if got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
}

// TestTimesOfSessions: they count from the start of each, unless it overlaps
// another one.
func TestTimesOfSessions(t *testing.T) {
	const start, end, entry = observe.EventStart, observe.EventEnd, ""
	got := print(func(p Printer) {
		for hour, what := range []string{start, entry, end, start, entry, start, entry, end, entry, end, start, entry} {
			now := at.Add(time.Duration(hour) * time.Hour)
			if what == entry {
				p.Entry(&observe.Entry{Time: now, Line: hour})
			} else {
				p.Event(&observe.Event{Time: now, Name: what})
			}
		}
	})
	var seconds []string
	for line := range strings.Lines(got) {
		if f := strings.Fields(line); strings.HasSuffix(f[0], ".000") {
			seconds = append(seconds, f[0])
		}
	}
	if want := "[3600.000 3600.000 10800.000 18000.000 3600.000]"; fmt.Sprint(seconds) != want {
		t.Errorf("seconds %v, want %s", seconds, want)
	}
}

// TestSummary: all that a summary can hold.
func TestSummary(t *testing.T) {
	finding := observe.Finding{
		Code: observe.ServerEnded, Dir: observe.ToServer, Title: "It ended", Advice: "Look.", Count: 7,
		Occurrences: []observe.Occurrence{{Line: 3, Text: "tools/call \x1b"}, {Text: "at no line"}},
	}
	s := observe.Summary{
		Command: []string{"server", "-x"},
		Took:    12_345,
		Streams: []observe.Stream{
			{Dir: observe.ToServer, Raw: observe.Raw{Bytes: 1_234_567, Lines: 1}, Messages: map[string]int{"request": 1}, Largest: 1000, LargestLine: 1},
			{Dir: observe.ToClient, Raw: observe.Raw{Lines: 9, Reads: 4, SplitReads: 3, Partial: 1000, CRLF: 2, Blank: 1, UnseenLines: 5, UnseenBytes: 4096},
				Messages: map[string]int{"response": 2, "malformed": 1}, Bad: map[string]int{"syntax": 1}},
		},
		Methods: []observe.Method{
			{Dir: observe.ToServer, Name: "tools/call", Calls: 3, Errors: 1, Cancelled: 1, Waited: 60_000, Latency: &observe.Spread{Min: 0.5, Median: 20, P95: 300, Max: 40_000}},
			{Dir: observe.ToClient, Name: "roots/list", Calls: 1, Cancelled: 1},
		},
		Open:     3,
		InFlight: []observe.Open{{Dir: observe.ToServer, Line: 4, Method: "tools/call", ID: json.RawMessage("7"), For: 2500}, {Dir: observe.ToClient, Line: 5, Method: "ping", ID: json.RawMessage(`"x"`)}},
		End:      &observe.End{Status: "exit status 3", Stderr: []string{"Traceback\x1b", "boom"}},
		Findings: []observe.Finding{finding},
	}
	want := `
mcptap: server -x, 12.3s
client wrote  1 line, 1,234,567 bytes; the largest line has 1,000 (line 1)
              request 1
server wrote  9 lines, 0 bytes
              response 2, malformed 1
              1 bad line: syntax 1
              reads 4, reads that ended inside a line 3, CRLF lines 2, blank lines 1, lines unseen 5, 4,096 bytes unseen
              a line that has not ended yet: 1,000 bytes, and no newline

method                             calls  errors        min   median      p95      max
tools/call                             3       1     0.50ms     20ms    300ms    40.0s  1 cancelled after 60.0s
< roots/list                           1       0  1 cancelled
3 in flight:
  tools/call (id 7), client line 4, for 2500ms
  ping (id "x"), server line 5
  and 1 more
server ended: exit status 3

1 finding:
1. It ended (7 times)
     client line 3: tools/call \x1b
     at no line
     and 5 more
     its last lines on stderr:
       Traceback\x1b
       boom
   -> Look.
`
	if got := print(func(p Printer) { p.Summary(s) }); got != want {
		t.Errorf("summary:\n%s\nwant:\n%s", got, want)
	}
	s.End.Stderr = nil
	if got := print(func(p Printer) { p.Summary(s) }); !strings.Contains(got, "(nothing on stderr)") {
		t.Errorf("without last lines:\n%s", got)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		s    observe.Summary
		want string
	}{
		{"a file", observe.Summary{}, "\nno bytes at all\nno findings\n"},
		{"a session", observe.Summary{Command: []string{"x"}}, "\nmcptap: x, 0.00ms\nno bytes at all\nno findings so far\n"},
		{"one that is over", observe.Summary{Command: []string{"x"}, End: &observe.End{Status: "exit status 0"}},
			"\nmcptap: x, 0.00ms\nno bytes at all\nserver ended: exit status 0\nno findings\n"},
	} {
		if got := print(func(p Printer) { p.Summary(test.s) }); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestSummaryIsBounded: a server that makes up methods does not flood the
// terminal.
func TestSummaryIsBounded(t *testing.T) {
	var s observe.Summary
	for i := range methodRows + 1 {
		s.Methods = append(s.Methods, observe.Method{Name: fmt.Sprint("m", i)})
	}
	got := print(func(p Printer) { p.Summary(s) })
	if n := strings.Count(got, "\nm"); n != methodRows+1 || !strings.Contains(got, "and 1 method more") { // the heading begins with an m too
		t.Errorf("%d rows and heading, want %d, and how many are missing:\n%s", n, methodRows+1, got)
	}
	s.Methods = s.Methods[:methodRows]
	if got := print(func(p Printer) { p.Summary(s) }); strings.Contains(got, "more") {
		t.Errorf("all fit, and yet:\n%s", got)
	}
}

// TestColours: what stands out, and that it takes no column.
func TestColours(t *testing.T) {
	for _, test := range []struct {
		entry observe.Entry
		want  string
	}{
		{observe.Entry{Item: observe.Item{Kind: "request"}}, "\x1b[36mrequest     \x1b[0m"},
		{observe.Entry{Item: observe.Item{Kind: "response"}}, "\x1b[32mresponse    \x1b[0m"},
		{observe.Entry{Item: observe.Item{Kind: "response", Code: "1"}}, "\x1b[33mresponse    \x1b[0m"},
		{observe.Entry{Item: observe.Item{Kind: "notification"}}, "notification"},
		{observe.Entry{Item: observe.Item{Kind: "invalid"}, Fault: &observe.Fault{}}, "\x1b[31minvalid     \x1b[0m"},
	} {
		var b strings.Builder
		p := New(&b, false, true)
		p.Entry(&test.entry)
		p.Flush()
		if !strings.Contains(b.String(), test.want) {
			t.Errorf("%s: %q, want %q in it", test.entry.Kind, b.String(), test.want)
		}
	}
}

type fullDisk struct{}

var errFull = errors.New("full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestJSON: one object a line, told apart by their event, and the first error
// of writing is kept.
func TestJSON(t *testing.T) {
	all := func(p Printer) {
		p.File("f")
		p.Event(&observe.Event{Name: observe.EventStart})
		p.Entry(&observe.Entry{Line: 1, Item: observe.Item{Kind: "request"}})
		p.Note("n")
		p.Summary(observe.Summary{Findings: []observe.Finding{{Code: observe.Text}}})
	}
	var b strings.Builder
	p := New(&b, true, true)
	all(p)
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		var o struct{ Event, Kind, File, Text, Code string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, o.Event+o.Kind+":"+o.File+o.Text+o.Code)
	}
	if want := "file:f start: request: note:n finding:text summary:"; strings.Join(got, " ") != want {
		t.Errorf("objects %q, want %s", got, want)
	}
	p = New(fullDisk{}, true, false)
	for range 100 { // more than a buffer
		all(p)
	}
	if err := p.Flush(); !errors.Is(err, errFull) {
		t.Errorf("Flush = %v, want %v", err, errFull)
	}
}
