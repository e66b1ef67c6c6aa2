package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing"
)

// scan returns the entries of stream, fed in chunks of n bytes.
func scan(stream string, n int) ([]Entry, Raw) {
	var entries []Entry
	s := Scanner{Emit: func(e *Entry) { entries = append(entries, *e) }}
	for chunk := []byte(stream); len(chunk) > 0; {
		part := append([]byte(nil), chunk[:min(n, len(chunk))]...)
		s.Feed(time.Time{}, part)
		for i := range part {
			part[i] = 0xAA // the scanner must not have kept it
		}
		chunk = chunk[len(part):]
	}
	s.EOF(time.Time{})
	return entries, s.Raw()
}

const ping1, pong1 = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"result":{},"jsonrpc":"2.0","id":1}`

func TestScannerLines(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []string // line, kind, id, method, bytes
		raw          Raw      // without Reads and SplitReads
	}{
		{"empty", "", nil, Raw{}},
		{"one", ping1 + "\n", []string{"1 request 1 ping 40"}, Raw{Bytes: 41, Lines: 1}},
		{"blank lines count", "\n \n" + pong1 + "\n", []string{"3 response 1  36"}, Raw{Bytes: 40, Lines: 3, Blank: 2}},
		{"CRLF", ping1 + "\r\n\r\n" + pong1 + "\n", []string{"1 request 1 ping 40", "3 response 1  36"}, Raw{Bytes: 81, Lines: 3, CRLF: 2, Blank: 1}},
		{"no newline at the end", ping1, []string{"1 request 1 ping 40"}, Raw{Bytes: 40, Lines: 1}},
		{"blank rest", ping1 + "\n  ", []string{"1 request 1 ping 40"}, Raw{Bytes: 43, Lines: 2, Blank: 1}},
		{"BOM", "\xEF\xBB\xBF" + ping1 + "\n", []string{"1 request 1 ping 43"}, Raw{Bytes: 44, Lines: 1}},
		{"junk", "hello\n" + ping1 + "\n", []string{"1 malformed   5", "2 request 1 ping 40"}, Raw{Bytes: 47, Lines: 2}},
		{"notification", `{"jsonrpc":"2.0","method":"m"}` + "\n", []string{"1 notification  m 30"}, Raw{Bytes: 31, Lines: 1}},
		{"invalid", `{"id":5,"method":"m"}` + "\n", []string{"1 invalid 5 m 21"}, Raw{Bytes: 22, Lines: 1}},
		{"a CR alone", "\r\n\r", nil, Raw{Bytes: 3, Lines: 2, CRLF: 1, Blank: 2}},
	}
	for _, test := range tests {
		for n := 1; n <= len(test.stream)+1; n++ {
			entries, raw := scan(test.stream, n)
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprintf("%d %s %s %s %d", e.Line, e.Kind, string(e.ID), e.Method, e.Bytes))
			}
			raw.Reads, raw.SplitReads = 0, 0
			if !reflect.DeepEqual(got, test.want) {
				t.Fatalf("%s, chunks of %d: entries %q, want %q", test.name, n, got, test.want)
			}
			if raw != test.raw {
				t.Fatalf("%s, chunks of %d: counts %+v, want %+v", test.name, n, raw, test.raw)
			}
		}
	}
}

func TestScannerReads(t *testing.T) {
	for _, test := range []struct {
		chunk int
		want  Raw
	}{
		{82, Raw{Bytes: 82, Lines: 2, Reads: 1}},
		{41, Raw{Bytes: 82, Lines: 2, Reads: 2}},
		{40, Raw{Bytes: 82, Lines: 2, Reads: 3, SplitReads: 2}},
	} {
		if _, got := scan(ping1+"\n"+ping1+"\n", test.chunk); got != test.want {
			t.Errorf("chunks of %d: %+v, want %+v", test.chunk, got, test.want)
		}
	}
}

// TestFaultSorts has a line for each sort of fault, and what is found inside.
func TestFaultSorts(t *testing.T) {
	utf16 := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			b.Write([]byte{c, 0})
		}
		return b.String()
	}
	tests := []struct {
		name, line string
		sort       Code
		class      string
		items      string // ids of the messages inside
	}{
		{"log line", "Server started on port 3000", Text, ClassSyntax, ""},
		{"log line in brackets", "[INFO] ready", Text, ClassSyntax, ""},
		{"date", "2026-07-28 12:00:01 ready", Text, ClassSyntax, ""},
		{"text before a message", "INFO: " + ping1, Text, ClassSyntax, ""},
		{"text behind a message", ping1 + " sent", Text, ClassSyntax, ""},
		{"LSP header", "Content-Length: 40", LSPFraming, ClassSyntax, ""},
		{"LSP header, lower case", "content-type: application/json", LSPFraming, ClassSyntax, ""},
		{"LSP body and header", ping1 + "Content-Length: 40", LSPFraming, ClassSyntax, "1"},
		{"two messages", ping1 + pong1, TwoMessages, ClassSyntax, "1 1"},
		{"three with spaces", ping1 + "  " + pong1 + " " + ping1, TwoMessages, ClassSyntax, "1 1 1"},
		{"one and a half", ping1 + `{"jsonrpc"`, TwoMessages, ClassSyntax, "1"},
		{"UTF-16LE with its mark", "\xFF\xFE" + utf16(ping1), UTF16, ClassUTF8, ""},
		{"UTF-16LE", utf16(ping1), UTF16, ClassSyntax, ""},
		{"UTF-16BE", "\x00" + utf16(ping1), UTF16, ClassSyntax, ""},
		{"Latin-1", "{\"a\":\"caf\xE9\"}", InvalidUTF8, ClassUTF8, ""},
		{"single quotes", `{'id':1}`, BadJSON, ClassSyntax, ""},
		{"NaN", `{"id":NaN}`, BadJSON, ClassSyntax, ""},
		{"cut off", `{"id":1,`, BadJSON, ClassSyntax, ""},
		{"no version", `{"id":1,"method":"ping"}`, NotJSONRPC, ClassInvalid, ""},
		{"a number", `42`, NotJSONRPC, ClassInvalid, ""},
		{"repeated", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, RepeatedMember, ClassInvalid, ""},
		{"repeated, escaped", `{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"ping"}`, RepeatedMember, ClassInvalid, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, _ := scan(ping1+"\n"+test.line+"\n"+ping1+"\n", 1000)
			if len(entries) != 3 || entries[1].Fault == nil {
				t.Fatalf("entries %+v, want a bad one in the middle", entries)
			}
			f := entries[1].Fault
			var ids []string
			for _, it := range entries[1].Items {
				ids = append(ids, string(it.ID))
			}
			if f.Sort != test.sort || f.Class != test.class || strings.Join(ids, " ") != test.items {
				t.Errorf("%q: %s of class %s, messages %q inside; want %s of class %s, %q", test.line, f.Sort, f.Class, ids, test.sort, test.class, test.items)
			}
		})
	}
	entries, _ := scan(ping1+"\n\xEF\xBB\xBF"+ping1+"\n", 1000)
	if f := entries[1].Fault; f == nil || f.Sort != BOM {
		t.Errorf("a BOM in mid-stream: fault %+v, want sort %s", f, BOM)
	}
}

func TestOverLongLine(t *testing.T) {
	long := `{"jsonrpc":"2.0","params":{"a":"` + strings.Repeat("x", 300) + `"},"method":"tools/call","id":77}`
	var got []*Entry
	s := Scanner{MaxLine: 200, Emit: func(e *Entry) { got = append(got, e) }}
	s.Feed(time.Time{}, []byte(ping1+"\n"+long+"\r\n"+ping1+"\n"))
	if len(got) != 3 || got[2].Line != 3 || got[2].Bad() {
		t.Fatalf("entries %+v, want three, the last one good", got)
	}
	e := got[1]
	if e.Fault == nil || e.Fault.Sort != TooLong || e.Bytes != int64(len(long)) {
		t.Errorf("over-long line: %d bytes, fault %+v; want %d bytes, %s", e.Bytes, e.Fault, len(long), TooLong)
	}
	if e.As != "request" || string(e.ID) != "77" || e.Method != "tools/call" {
		t.Errorf("over-long line taken for %q %s %s, want request 77 tools/call", e.As, e.ID, e.Method)
	}
}

func TestCaseVariants(t *testing.T) {
	line := `{"jsonrpc":"2.0","ID":1,"Method":"x","method":"ping","params":{"Method":1},"\u0049d":2,"other":3}`
	entries, _ := scan(line+"\n", 1000)
	if got, want := entries[0].Variants, []string{"ID", "Method", "Id"}; !reflect.DeepEqual(got, want) {
		t.Errorf("variants %q, want %q", got, want)
	}
}

func TestBatchItems(t *testing.T) {
	entries, _ := scan(`[`+ping1+`,{"jsonrpc":"2.0","method":"n"},`+pong1+`]`+"\n", 1000)
	var got []string
	for _, it := range entries[0].Items {
		got = append(got, it.Kind)
	}
	if want := []string{"request", "notification", "response"}; !reflect.DeepEqual(got, want) {
		t.Errorf("in the batch: %q, want %q", got, want)
	}
	entries, _ = scan("["+strings.Repeat("1,", maxItems)+"1,1]\n", 100_000)
	if n, more := len(entries[0].Items), entries[0].MoreItems; n != maxItems || more != 2 {
		t.Errorf("a batch of %d: %d looked at and %d more, want %d and 2", maxItems+2, n, more, maxItems)
	}
}

// TestBrokenMessage has messages that their writers broke over several
// lines; first and last are the lines that make one.
func TestBrokenMessage(t *testing.T) {
	pretty := "{\n  \"jsonrpc\": \"2.0\",\n\n  \"id\": 7,\n  \"result\": [\n    1,\n    2\n  ]\n}\n"
	tests := []struct {
		name, stream string
		first, last  int
	}{
		{"pretty-printed", ping1 + "\n" + pretty + ping1 + "\n", 2, 10},
		{"raw newline in a string", `{"jsonrpc":"2.0","id":7,"result":"one` + "\n" + `two \" } three` + "\n\n" + `four"}` + "\n", 1, 4},
		{"two in a row", pretty, 1, 9},
		{"no end", "{\n\"jsonrpc\": \"2.0\",\n", 0, 0},
		{"a message in between", "{\n" + ping1 + "\n}\n", 0, 0},
		{"closes in mid-line", "{\n\"id\": 7\n} and on\n", 0, 0},
		{"a log line with a bracket", "{ starting\n} done\n", 0, 0},
		{"not JSON together", "{\n\"id\": 7,\n}\n", 0, 0},
	}
	for _, test := range tests {
		entries, _ := scan(test.stream, 5)
		first, last := 0, 0
		for _, e := range entries {
			if e.Completes {
				first, last = e.PartOf, e.Line
				if string(e.Items[0].ID) != "7" {
					t.Errorf("%s: id %s, want 7", test.name, e.Items[0].ID)
				}
			}
		}
		if first != test.first || last != test.last {
			t.Errorf("%s: lines %d to %d are one, want %d to %d", test.name, first, last, test.first, test.last)
		}
	}
}

func TestJoinerLimits(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		whole bool
	}{
		{"at the number of lines", append([]string{"["}, append(strings.Split(strings.Repeat("1,|", maxJoinLines-2), "|")[:maxJoinLines-2], "1]")...), true},
		{"over it", append([]string{"["}, append(strings.Split(strings.Repeat("1,|", maxJoinLines-1), "|")[:maxJoinLines-1], "1]")...), false},
		{"at the bytes", []string{`["`, strings.Repeat("x", maxJoinBytes-2-2-2-2), `"]`}, true},
		{"over them", []string{`["`, strings.Repeat("x", maxJoinBytes-2-2-2-1), `"]`}, false},
	} {
		entries, _ := scan(strings.Join(test.lines, "\n")+"\n", 1<<20)
		if got := entries[len(entries)-1].Completes; got != test.whole {
			t.Errorf("%s: completes = %t, want %t", test.name, got, test.whole)
		}
	}
}

func TestGapResynchronises(t *testing.T) {
	var got []string
	s := Scanner{Emit: func(e *Entry) { got = append(got, fmt.Sprintf("%d %s", e.Line, e.Kind)) }}
	s.Feed(time.Time{}, []byte(ping1+"\n{\"json"))         // line 2 begins
	s.Gap(Gap{Bytes: 100, Newlines: 3, Inside: true})      // lines 2, 3, 4 end, 5 begins
	s.Feed(time.Time{}, []byte("rest of 5\n"+ping1+"\n"))  // 6 is seen
	s.Gap(Gap{Bytes: 10, Newlines: 1})                     // line 7, whole
	s.Feed(time.Time{}, []byte("\xEF\xBB\xBF"+ping1+"\n")) // 8: no BOM of the stream
	s.Gap(Gap{Bytes: 1, Inside: true})                     // line 9 begins
	s.EOF(time.Time{})
	if want := []string{"1 request", "6 request", "8 malformed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("entries %q, want %q", got, want)
	}
	raw := s.Raw()
	if raw.Lines != 9 || raw.UnseenLines != 6 || raw.UnseenBytes != 111 {
		t.Errorf("%d lines, %d and %d bytes unseen; want 9, 6, 111", raw.Lines, raw.UnseenLines, raw.UnseenBytes)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	id := func(c string) string { return `"` + strings.Repeat("a", 5000) + c + `"` }
	line := func(c string) string {
		return `{"jsonrpc":"2.0","id":` + id(c) + `,"method":` + id(c) + "}\n"
	}
	entries, _ := scan(line("b")+line("c")+line("b"), 1000)
	a, b, c := entries[0], entries[1], entries[2]
	if len(a.ID) > maxName || len(a.Method) > maxName || !json.Valid(a.ID) {
		t.Errorf("id %s and method %s, want at most %d bytes and the id JSON", a.ID, a.Method, maxName)
	}
	if string(a.ID) == string(b.ID) || string(a.ID) != string(c.ID) || a.Method == b.Method || a.Method != c.Method {
		t.Errorf("cut ids %s, %s, %s: want the second one alone to differ", a.ID, b.ID, c.ID)
	}
}

func TestCancellations(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, "7"},
		{`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}`, `"a"`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[7]}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/other","params":{"requestId":7}}`, ""},
	} {
		entries, _ := scan(test.line+"\n", 1000)
		if got := string(entries[0].Cancels); got != test.want {
			t.Errorf("%s cancels %q, want %q", test.line, got, test.want)
		}
	}
}

// TestEntryIsJSON: a log is read back from what was written.
func TestEntryIsJSON(t *testing.T) {
	entries, _ := scan(ping1+"\nhello\n"+`[`+ping1+`]`+"\n", 1000)
	for _, e := range entries {
		e.Dir, e.Time = ToClient, time.Unix(1_800_000_000, 5).UTC()
		line, err := framing.Encode(e)
		var back Entry
		if err = errors.Join(err, json.Unmarshal(line, &back)); err != nil || !reflect.DeepEqual(e, back) {
			t.Errorf("entry %+v came back as %+v, %v", e, back, err)
		}
	}
}
