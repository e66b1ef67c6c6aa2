package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// kinds are the columns of messages, in order.
var kinds = []string{"request", "notification", "response", "batch", "invalid", "malformed"}

// Summary prints the counts, the methods, what is in flight, and the findings.
func (t *text) Summary(s observe.Summary) {
	fmt.Fprintln(t.w)
	if s.Command != nil {
		fmt.Fprintf(t.w, "mcptap: %s, %v\n", commandLine(s.Command), s.Took)
	}
	for _, st := range s.Streams {
		t.stream(st)
	}
	if len(s.Streams) == 0 {
		fmt.Fprintln(t.w, "no bytes at all")
	}
	t.methods(s.Methods)
	t.open(s)
	if s.End != nil {
		fmt.Fprintf(t.w, "server ended: %s\n", observe.Printable([]byte(s.End.Status), 100))
	}
	t.findings(s)
}

func (t *text) stream(s observe.Stream) {
	name := "total"
	if s.Dir != observe.Unknown {
		name = s.Dir.Writer() + " wrote"
	}
	fmt.Fprintf(t.w, "%-13s %s, %s bytes", name, plural(s.Lines, "line"), group(s.Raw.Bytes))
	if s.Largest > 0 {
		fmt.Fprintf(t.w, "; the largest line has %s (line %d)", group(s.Largest), s.LargestLine)
	}
	fmt.Fprintln(t.w)
	t.detail(counted(kinds, s.Messages))
	if n := s.BadLines(); n > 0 {
		t.detail(t.paint(red, plural(n, "bad line")) + ": " + counted(observe.Classes, s.Bad))
	}
	if s.Dir == observe.Unknown {
		s.Reads, s.SplitReads = 0, 0 // mere accidents in a file
	}
	t.detail(oddities(s.Raw))
	if s.Partial > 0 {
		t.detail(fmt.Sprintf("a line that has not ended yet: %s bytes, and no newline", group(s.Partial)))
	}
}

func (t *text) detail(line string) {
	if line != "" {
		fmt.Fprintf(t.w, "%-13s %s\n", "", line)
	}
}

// counted lists what was counted, in the order of names.
func counted(names []string, n map[string]int) string {
	var parts []string
	for _, name := range names {
		if n[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, n[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// oddities lists what is not wrong but worth knowing.
func oddities(r observe.Raw) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", what, n))
		}
	}
	add(r.Reads, "reads")
	add(r.SplitReads, "reads that ended inside a line")
	add(r.CRLF, "CRLF lines")
	add(r.Blank, "blank lines")
	add(r.UnseenLines, "lines unseen")
	if r.UnseenBytes > 0 {
		parts = append(parts, group(r.UnseenBytes)+" bytes unseen")
	}
	return strings.Join(parts, ", ")
}

// methodRows is how many methods are shown: a server can make up any number.
const methodRows = 50

func (t *text) methods(rows []observe.Method) {
	if len(rows) == 0 {
		return
	}
	heading := ""
	for _, m := range rows {
		if m.Latency != nil {
			heading = "        min   median      p95      max"
		}
	}
	fmt.Fprintf(t.w, "\n%-32s %7s %7s%s\n", "method", "calls", "errors", heading)
	for _, m := range rows[:min(len(rows), methodRows)] {
		t.method(m)
	}
	if more := len(rows) - methodRows; more > 0 {
		fmt.Fprintf(t.w, "and %s more (-json has them)\n", plural(more, "method"))
	}
}

func (t *text) method(m observe.Method) {
	name := observe.Printable([]byte(m.Name), 27)
	if m.Dir == observe.ToClient {
		name = "< " + name // asked by the server
	}
	fmt.Fprintf(t.w, "%-32s %7d %7d", name, m.Calls, m.Errors)
	if l := m.Latency; l != nil {
		fmt.Fprintf(t.w, "   %8v %8v %8v %8v", l.Min, l.Median, l.P95, l.Max)
	}
	if m.Cancelled > 0 {
		fmt.Fprintf(t.w, "  %d cancelled", m.Cancelled)
	}
	if m.Waited > 0 {
		fmt.Fprintf(t.w, " after %v", m.Waited)
	}
	fmt.Fprintln(t.w)
}

func (t *text) open(s observe.Summary) {
	switch {
	case s.Open == 0:
		return
	case len(s.Streams) == 1 && s.Streams[0].Dir == observe.Unknown: // one side's lines, perhaps
		fmt.Fprintf(t.w, "%s without an answer in this file\n", plural(s.Open, "request"))
		return
	}
	fmt.Fprintf(t.w, "%d in flight:\n", s.Open)
	for _, o := range s.InFlight {
		fmt.Fprintf(t.w, "  %s (id %s), %sline %d", observe.Printable([]byte(o.Method), 60), observe.Printable(o.ID, 60), whose(o.Dir), o.Line)
		switch {
		case o.For > 0:
			fmt.Fprintf(t.w, ", for %v", o.For)
		case !o.Since.IsZero():
			fmt.Fprintf(t.w, ", since %s", o.Since.Format(time.DateTime))
		}
		fmt.Fprintln(t.w)
	}
	if more := s.Open - len(s.InFlight); more > 0 {
		fmt.Fprintf(t.w, "  and %d more\n", more)
	}
}

// findings prints what was wrong, most serious first.
func (t *text) findings(s observe.Summary) {
	switch {
	case len(s.Findings) > 0:
	case s.Command != nil && s.End == nil: // a session that goes on
		fmt.Fprintln(t.w, "no findings so far")
		return
	default:
		fmt.Fprintln(t.w, "no findings")
		return
	}
	fmt.Fprintf(t.w, "\n%s:\n", plural(len(s.Findings), "finding"))
	for i, f := range s.Findings {
		fmt.Fprintf(t.w, "%d. %s%s\n", i+1, t.paint(bold, f.Title), times(f.Count))
		for _, o := range f.Occurrences {
			fmt.Fprint(t.w, "     ")
			if o.Line > 0 {
				fmt.Fprintf(t.w, "%sline %d: ", whose(f.Dir), o.Line)
			}
			fmt.Fprintln(t.w, observe.Printable([]byte(o.Text), 400))
		}
		if more := f.Count - len(f.Occurrences); more > 0 {
			fmt.Fprintf(t.w, "     and %d more\n", more)
		}
		if f.Code == observe.ServerEnded {
			t.lastWords(s.End)
		}
		fmt.Fprintf(t.w, "   -> %s\n", f.Advice)
	}
}

func (t *text) lastWords(end *observe.End) {
	if end == nil || len(end.Stderr) == 0 {
		fmt.Fprintln(t.w, "     (nothing on stderr)")
		return
	}
	fmt.Fprintln(t.w, "     its last lines on stderr:")
	for _, line := range end.Stderr {
		fmt.Fprintf(t.w, "       %s\n", observe.Printable([]byte(line), 200))
	}
}

// whose says in whose lines a number counts.
func whose(d observe.Dir) string {
	if d == observe.Unknown {
		return ""
	}
	return d.Writer() + " "
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// group writes n with a comma before every third digit.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
