package framing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/mcp/framing"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// The byte order marks by name: in a table they would not be seen.
const (
	bom     = "\ufeff"
	bomLE16 = "\xff\xfe"
)

// wireRules are the rules of the wire, one stream a row, but for the grammar, the limit and the reasons, which have tables of their own.
var wireRules = []struct {
	name string
	in   string
	open bool // no end of stream follows
	want []entry
	held int // what Buffered says at the end of an open stream
}{
	{name: "rule 1: LF ends a line", in: ping + "\n" + ping + "\n", want: []entry{good(ping), good(ping)}},
	{name: "rule 1: a lone CR does not", in: ping + "\r" + ping + "\n", want: []entry{syntax(41, ping+"\r"+ping)}},
	{name: "rule 1: U+2028 does not", in: ping + "\u2028" + ping + "\n", want: []entry{syntax(40, ping+"\u2028"+ping)}},
	{name: "rule 1: U+2029 does not", in: ping + "\u2029" + ping + "\n", want: []entry{syntax(40, ping+"\u2029"+ping)}},
	{name: "rule 1: U+0085 does not", in: ping + "\u0085" + ping + "\n", want: []entry{syntax(40, ping+"\u0085"+ping)}},
	{name: "rule 1: vertical tab does not", in: ping + "\v" + ping + "\n", want: []entry{syntax(40, ping+"\v"+ping)}},
	{name: "rule 1: form feed does not", in: ping + "\f" + ping + "\n", want: []entry{syntax(40, ping+"\f"+ping)}},
	{name: "rule 1: file separator does not", in: ping + "\x1c" + ping + "\n", want: []entry{syntax(40, ping+"\x1c"+ping)}},
	{name: "rule 1: line separators inside a string", in: "\"a\u2028b\u2029c\u0085d\"\n", want: []entry{invalid("\"a\u2028b\u2029c\u0085d\"")}},
	{name: "rule 1: a message without newline waits", in: ping, open: true, held: len(ping)},
	{name: "rule 1: a message is there with its newline", in: ping + "\n", open: true, want: []entry{good(ping)}},
	{name: "rule 1: the start of the next line waits", in: ping + "\n{\"id\"", open: true, want: []entry{good(ping)}, held: 5},

	{name: "rule 2: CRLF", in: ping + "\r\n" + ping + "\r\n", want: []entry{good(ping), good(ping)}},
	{name: "rule 2: CRLF after a bad line", in: "oops\r\n", want: []entry{syntax(0, "oops")}},
	{name: "rule 2: a second CR is white space", in: ping + "\r\r\n", want: []entry{good(ping + "\r")}},
	{name: "rule 2: a second CR stays in a bad line", in: "oops\r\r\n", want: []entry{syntax(0, "oops\r")}},
	{name: "rule 2: CR between tokens", in: "{\r\"a\"\r:\r1\r}\n", want: []entry{invalid("{\r\"a\"\r:\r1\r}")}},
	{name: "rule 2: CR in a string", in: "\"a\rb\"\n", want: []entry{syntax(2, "\"a\rb\"")}},
	{name: "rule 2: CR at the end of the stream is no terminator", in: ping + "\r", want: []entry{good(ping + "\r")}},
	{name: "rule 2: a CR that waits for its LF", in: ping + "\r", open: true, held: len(ping) + 1},

	{name: "rule 3: empty lines", in: "\n\n" + ping + "\n\n", want: []entry{good(ping)}},
	{name: "rule 3: CRLF alone", in: "\r\n\r\n" + ping + "\r\n\r\n", want: []entry{good(ping)}},
	{name: "rule 3: spaces, tabs and CRs", in: " \n\t\n \r \t\r\r\n" + ping + "\n  \t ", want: []entry{good(ping)}},
	{name: "rule 3: blank rest", in: " \t\r", want: nil},
	{name: "rule 3: empty stream", in: "", want: nil},
	{name: "rule 3: form feed is not blank", in: "\f\n", want: []entry{syntax(0, "\f")}},
	{name: "rule 3: vertical tab is not blank", in: " \v\n", want: []entry{syntax(1, " \v")}},
	{name: "rule 3: NUL is not blank", in: "\x00\n", want: []entry{syntax(0, "\x00")}},
	{name: "rule 3: no-break space is not blank", in: "\u00a0\n", want: []entry{syntax(0, "\u00a0")}},
	{name: "rule 3: U+2028 is not blank", in: "\u2028\n", want: []entry{syntax(0, "\u2028")}},
	{name: "rule 3: ideographic space is not blank", in: "\u3000\n", want: []entry{syntax(0, "\u3000")}},
	{name: "rule 3: white space around a message stays", in: " \t" + ping + "\t \n", want: []entry{good(" \t" + ping + "\t ")}},

	{name: "rule 4: BOM at the start", in: bom + ping + "\n" + ping + "\n", want: []entry{good(ping), good(ping)}},
	{name: "rule 4: BOM alone", in: bom, want: nil},
	{name: "rule 4: BOM alone, stream open", in: bom, open: true, held: 0},
	{name: "rule 4: BOM and a blank line", in: bom + "\r\n" + ping, want: []entry{good(ping)}},
	{name: "rule 4: BOM is not counted", in: bom + "x\n", want: []entry{syntax(0, "x")}},
	{name: "rule 4: second BOM at the start", in: bom + bom + ping + "\n", want: []entry{syntax(0, bom+ping)}},
	{name: "rule 4: BOM in mid-stream", in: ping + "\n" + bom + ping + "\n" + ping + "\n", want: []entry{good(ping), syntax(0, bom+ping), good(ping)}},
	{name: "rule 4: BOM after a blank line", in: "\n" + bom + ping + "\n", want: []entry{syntax(0, bom+ping)}},
	{name: "rule 4: BOM after a space", in: " " + bom + ping + "\n", want: []entry{syntax(1, " "+bom+ping)}},
	{name: "rule 4: BOM behind the value", in: ping + bom + "\n", want: []entry{syntax(40, ping+bom)}},
	{name: "rule 4: BOM in a string", in: "\"" + bom + "\"\n", want: []entry{invalid("\"" + bom + "\"")}},
	{name: "rule 4: two thirds of a BOM", in: "\xef\xbb" + ping + "\n", want: []entry{{Kind: framing.Malformed, Line: "\xef\xbb" + ping, Class: anyClass}}},
	{name: "rule 4: a third of a BOM and the end", in: "\xef", want: []entry{{Kind: framing.Malformed, Line: "\xef", Class: anyClass}}},

	{name: "rule 5: white space around a text", in: " \t\r[1]\r\t \n", want: []entry{batch(" \t\r[1]\r\t ")}},
	{name: "rule 5: UTF-8 of every length", in: "\"\u00e9\u20ac\U0001f389\"\n", want: []entry{invalid("\"\u00e9\u20ac\U0001f389\"")}},
	{name: "rule 5: the replacement character itself", in: "\"\ufffd\"\n", want: []entry{invalid("\"\ufffd\"")}},
	{name: "rule 5: escaped lone surrogate", in: `{"a":"\ud83d"}` + "\n", want: []entry{invalid(`{"a":"\ud83d"}`)}},

	{name: "rule 6: a bad line costs that line alone", in: ping + "\nlog\n" + ping + "\n{\n" + ping + "\n", want: []entry{good(ping), syntax(0, "log"), good(ping), syntax(1, "{"), good(ping)}},
	{name: "rule 6: an open string ends with its line", in: "{\"a\":\"\n" + ping + "\n", want: []entry{syntax(6, `{"a":"`), good(ping)}},
	{name: "rule 6: invalid UTF-8 ends with its line", in: "\"\xe2\x82\n" + ping + "\n", want: []entry{badUTF8(1, "\"\xe2\x82"), good(ping)}},

	{name: "rule 7: message without newline", in: ping, want: []entry{good(ping)}},
	{name: "rule 7: number without newline", in: "12", want: []entry{invalid("12")}},
	{name: "rule 7: blank rest after messages", in: ping + "\n \t ", want: []entry{good(ping)}},
	{name: "rule 7: breaks off in an object", in: `{"id":2,`, want: []entry{cutOff(`{"id":2,`)}},
	{name: "rule 7: breaks off in a string", in: `{"id":"a`, want: []entry{cutOff(`{"id":"a`)}},
	{name: "rule 7: breaks off in an escape", in: `{"id":"\u00`, want: []entry{cutOff(`{"id":"\u00`)}},
	{name: "rule 7: breaks off in a literal", in: `[tru`, want: []entry{cutOff(`[tru`)}},
	{name: "rule 7: breaks off in a number", in: `-`, want: []entry{cutOff(`-`)}},
	{name: "rule 7: breaks off in an exponent", in: `1e+`, want: []entry{cutOff(`1e+`)}},
	{name: "rule 7: breaks off inside UTF-8", in: "{\"id\":\"\xe2\x82", want: []entry{{Kind: framing.Malformed, Line: "{\"id\":\"\xe2\x82", Class: io.ErrUnexpectedEOF, Offset: anyOffset}}},
	{name: "rule 7: breaks off after a CR", in: "{\"id\":1\r", want: []entry{cutOff("{\"id\":1\r")}},
	{name: "rule 7: text that no JSON begins with", in: "bye", want: []entry{syntax(0, "bye")}},
	{name: "rule 7: a fault before the end", in: `{"id":nul,`, want: []entry{syntax(6, `{"id":nul,`)}},
	{name: "rule 7: text after a whole message", in: ping + "x", want: []entry{syntax(40, ping+"x")}},
	{name: "rule 7: broken UTF-8 before the end", in: "[\"\xff", want: []entry{badUTF8(2, "[\"\xff")}},
}

func TestWireRules(t *testing.T) {
	for _, tt := range wireRules {
		t.Run(tt.name, func(t *testing.T) {
			s := stream{in: tt.in, open: tt.open}
			got := readEveryWay(t, s)
			checkEntries(t, s, got, tt.want)
			if held := bufferedAfter(tt.in); tt.open && held != tt.held {
				t.Errorf("Buffered() after %q = %d, want %d", tt.in, held, tt.held)
			}
		})
	}
}

// goodTexts are JSON texts, strictly (RFC 8259).
var goodTexts = []string{
	`0`, `-0`, `-1`, `10`, `0.0`, `1.50`, `1e5`, `1E+5`, `1e-05`, `1e400`, `9007199254740993`, `123456789012345678901234567890`,
	`""`, `"\""`, `"\\"`, `"\/"`, `"\b\f\n\r\t"`, `"\u0000"`, `"\uD83D\uDE00"`, `"\ud83d"`, `"\ude00\ud83d"`, "\"\x7f\"", `"'"`,
	`true`, `false`, `null`, `[]`, `{}`, `[[]]`, `[{}]`, `{"":{}}`, `{"a":[]}`, `[1,2,"3",null,true,false,{}]`, ` { "a" : 1 , "b" : [ 1 , 2 ] } `,
	"\t[\r1\t]\r\t", `{"a":1,"a":2}`, `{"\u0061":1}`, "\"\U0010ffff\"", "\"\uffff\"", "\"\u0080\"",
	`"aaaaaaaa\\"`, `"aaaaaaa\\"`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`,
}

// badTexts are lines that are no JSON text, each with the spot of its first fault.
var badTexts = []struct {
	name  string
	line  string
	class error
	at    int
}{
	{"bare word", `hello`, framing.ErrSyntax, 0},
	{"capital literal", `True`, framing.ErrSyntax, 0},
	{"literal cut short", `[tru]`, framing.ErrSyntax, 1},
	{"literal run on", `nulll`, framing.ErrSyntax, 4},
	{"NaN", `[NaN]`, framing.ErrSyntax, 1},
	{"Infinity", `Infinity`, framing.ErrSyntax, 0},
	{"minus Infinity", `[-Infinity]`, framing.ErrSyntax, 2},
	{"undefined", `{"a":undefined}`, framing.ErrSyntax, 5},
	{"plus sign", `+1`, framing.ErrSyntax, 0},
	{"leading zero", `01`, framing.ErrSyntax, 1},
	{"leading zero after minus", `[-012]`, framing.ErrSyntax, 3},
	{"minus alone", `[-]`, framing.ErrSyntax, 2},
	{"two minus signs", `--1`, framing.ErrSyntax, 1},
	{"point first", `.5`, framing.ErrSyntax, 0},
	{"point last", `[1.]`, framing.ErrSyntax, 3},
	{"exponent without digits", `[1e]`, framing.ErrSyntax, 3},
	{"exponent sign without digits", `[1e+]`, framing.ErrSyntax, 4},
	{"two points", `1.2.3`, framing.ErrSyntax, 3},
	{"hexadecimal", `0x10`, framing.ErrSyntax, 1},
	{"separator in a number", `1_000`, framing.ErrSyntax, 1},
	{"suffix on a number", `10n`, framing.ErrSyntax, 2},
	{"trailing comma in an array", `[1,]`, framing.ErrSyntax, 3},
	{"trailing comma in an object", `{"a":1,}`, framing.ErrSyntax, 7},
	{"comma first", `[,1]`, framing.ErrSyntax, 1},
	{"two commas", `[1,,2]`, framing.ErrSyntax, 3},
	{"comma missing", `[1 2]`, framing.ErrSyntax, 3},
	{"comma missing in an object", `{"a":1 "b":2}`, framing.ErrSyntax, 7},
	{"colon missing", `{"a" 1}`, framing.ErrSyntax, 5},
	{"two colons", `{"a"::1}`, framing.ErrSyntax, 5},
	{"value missing", `{"a":}`, framing.ErrSyntax, 5},
	{"equals sign", `{"a"=1}`, framing.ErrSyntax, 4},
	{"name without quotes", `{a:1}`, framing.ErrSyntax, 1},
	{"number as a name", `{1:1}`, framing.ErrSyntax, 1},
	{"comma as first member", `{,}`, framing.ErrSyntax, 1},
	{"single quotes", `{'a':1}`, framing.ErrSyntax, 1},
	{"curly quotes", "{\u201ca\u201d:1}", framing.ErrSyntax, 1},
	{"comment", `{"a":1} // x`, framing.ErrSyntax, 8},
	{"block comment", `/* x */ {}`, framing.ErrSyntax, 0},
	{"hash comment", `# x`, framing.ErrSyntax, 0},
	{"wrong bracket closes", `[1}`, framing.ErrSyntax, 2},
	{"wrong brace closes", `{"a":1]`, framing.ErrSyntax, 6},
	{"close without open", `]`, framing.ErrSyntax, 0},
	{"one close too many", `[]]`, framing.ErrSyntax, 2},
	{"second value", `{} {}`, framing.ErrSyntax, 3},
	{"second scalar", `1 2`, framing.ErrSyntax, 2},
	{"object not closed", `{"a":1`, framing.ErrSyntax, 6},
	{"array not closed", `[[1]`, framing.ErrSyntax, 4},
	{"string not closed", `["abc`, framing.ErrSyntax, 5},
	{"string closed by an escape only", `"abc\"`, framing.ErrSyntax, 6},
	{"unknown escape", `"a\qb"`, framing.ErrSyntax, 2},
	{"escaped x", `"\x41"`, framing.ErrSyntax, 1},
	{"escaped single quote", `"\'"`, framing.ErrSyntax, 1},
	{"escaped U", `"\U00000041"`, framing.ErrSyntax, 1},
	{"escape with three digits", `"\u123"`, framing.ErrSyntax, 1},
	{"escape with a bad digit", `"\u12g4"`, framing.ErrSyntax, 1},
	{"raw tab in a string", "\"a\tb\"", framing.ErrSyntax, 2},
	{"raw NUL in a string", "\"a\x00b\"", framing.ErrSyntax, 2},
	{"raw 0x1f in a string", "\"a\x1fb\"", framing.ErrSyntax, 2},
	{"raw tab deep in a long string", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\tb\"", framing.ErrSyntax, 65},
	{"NUL between tokens", "[\x00]", framing.ErrSyntax, 1},
	{"NUL after the value", "123\x00", framing.ErrSyntax, 3},
	{"DEL outside a string", "[\x7f]", framing.ErrSyntax, 1},
	{"no-break space outside a string", "[\u00a0]", framing.ErrSyntax, 1},
	{"escape sequence of a terminal", "\x1b[31mred", framing.ErrSyntax, 0},
	{"Latin-1 in a string", "{\"t\":\"caf\xe9\"}", framing.ErrInvalidUTF8, 9},
	{"Latin-1 in a name", "{\"\xe9\":1}", framing.ErrInvalidUTF8, 2},
	{"lone continuation byte", "\"a\x80b\"", framing.ErrInvalidUTF8, 2},
	{"sequence cut short by ASCII", "\"\xe2\x82a\"", framing.ErrInvalidUTF8, 1},
	{"sequence cut short by the quote", "\"\xf0\x9f\x8e\"", framing.ErrInvalidUTF8, 1},
	{"sequence cut short by the end of the line", "\"\xc3", framing.ErrInvalidUTF8, 1},
	{"overlong slash", "\"\xc0\xaf\"", framing.ErrInvalidUTF8, 1},
	{"overlong of three bytes", "\"\xe0\x80\xaf\"", framing.ErrInvalidUTF8, 1},
	{"surrogate in UTF-8", "\"\xed\xb2\xaf\"", framing.ErrInvalidUTF8, 1},
	{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", framing.ErrInvalidUTF8, 1},
	{"byte 0xff in a string", "\"\xff\"", framing.ErrInvalidUTF8, 1},
	{"bad UTF-8 before a syntax error", "[\"\xff\" x]", framing.ErrInvalidUTF8, 2},
	{"a syntax error before bad UTF-8", "[x \"\xff\"]", framing.ErrSyntax, 1},
	{"bad UTF-8 before the missing end", "[\"\xff", framing.ErrInvalidUTF8, 2},
}

func TestWireRules_Grammar(t *testing.T) {
	for _, text := range goodTexts {
		t.Run("rule 5: good "+text, func(t *testing.T) {
			s := stream{in: text + "\n"}
			if got := readEveryWay(t, s); len(got) != 1 || got[0].Kind == framing.Malformed || got[0].Line != text {
				t.Errorf("Feed(%q) = %+v, want the text", s.in, got)
			}
		})
	}
	for _, tt := range badTexts {
		t.Run("rule 5: "+tt.name, func(t *testing.T) {
			s := stream{in: tt.line + "\n" + ping + "\n"}
			checkEntries(t, s, readEveryWay(t, s), []entry{bad(tt.class, tt.at, tt.line), good(ping)})
		})
	}
}

// A short line cannot tell whether a scanner's steps of eight bytes look at every byte: so each bad byte is tried at each place of a
// string that is longer than a few steps.
func TestWireRules_GrammarAtEveryOffset(t *testing.T) {
	for _, junk := range []struct {
		name  string
		bytes string
		class error
		at    int // of the fault in bytes
	}{
		{"rule 5: control", "\x01", framing.ErrSyntax, 0},
		{"rule 5: newest control", "\x1f", framing.ErrSyntax, 0},
		{"rule 5: CR", "\r", framing.ErrSyntax, 0},
		{"rule 5: bad escape", `\q`, framing.ErrSyntax, 0},
		{"rule 5: bad hex digit", `\u00G0`, framing.ErrSyntax, 0},
		{"rule 5: quote, then text", `"a`, framing.ErrSyntax, 1},
		{"rule 5: Latin-1", "\xe9", framing.ErrInvalidUTF8, 0},
		{"rule 5: cut sequence", "\xf0\x9f\x8e", framing.ErrInvalidUTF8, 0},
	} {
		t.Run(junk.name, func(t *testing.T) {
			for i := range 80 {
				line := `{"a":"` + strings.Repeat("a", i) + junk.bytes + strings.Repeat("a", 80-i) + `"}`
				var r framing.LineReader
				got := snapshotAll(r.Feed([]byte(line + "\n")))
				want := bad(junk.class, 6+i+junk.at, line)
				if len(got) != 1 || !got[0].matches(want) {
					t.Fatalf("Feed(%q) = %+v, want %+v", line, got, want)
				}
			}
		})
	}
}

func TestWireRules_Depth(t *testing.T) {
	const most = 10_000 // as in encoding/json
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	message := func(n int) string { return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + nest(n-1) + `}` }
	for _, tt := range []struct {
		name string
		line string
		want entry
	}{
		{"rule 5: 10,000 arrays", nest(most), batch(nest(most))},
		{"rule 5: 10,001 arrays", nest(most + 1), syntax(most, nest(most+1))},
		{"rule 5: 10,000 objects", objects(most), invalid(objects(most))},
		{"rule 5: 10,001 objects", objects(most + 1), syntax(5*most, objects(most+1))},
		{"rule 5: 10,000 in a message", message(most), good(message(most))},
		{"rule 5: 10,001 in a message", message(most + 1), syntax(len(message(1))-1-1+most, message(most+1))},
		{"rule 5: 12,000 arrays not closed", strings.Repeat("[", 12_000), syntax(most, strings.Repeat("[", 12_000))},
		{"rule 5: 5,000,000 arrays", nest(5_000_000), syntax(most, nest(5_000_000))},
		{"rule 5: 5,000,000 objects", objects(5_000_000), syntax(5*most, objects(5_000_000))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{len(tt.line), 4096} {
				var r framing.LineReader
				got := snapshotAll(feed(t, &r, tt.line+"\n"+ping+"\n", []int{size}))
				if len(got) != 2 || !got[0].matches(tt.want) || !got[1].matches(good(ping)) {
					t.Errorf("Feed in pieces of %d = %.300v, want %.200v and a ping", size, got, tt.want)
				}
			}
		})
	}
}

func TestWireRules_ValueAtTheDeepest(t *testing.T) {
	var r framing.LineReader
	m := r.Feed([]byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n"))[0]
	v, depth := m.Value(), 0
	for {
		elems, ok := v.([]any)
		if !ok {
			t.Fatalf("Value() at depth %d = %T, want []any", depth, v)
		}
		depth++
		if len(elems) == 0 {
			break
		}
		v = elems[0]
	}
	if depth != 10_000 {
		t.Errorf("depth of Value() = %d, want 10000", depth)
	}
}

// limitRows run with MaxLine 40, the length of ping.
var limitRows = []struct {
	name string
	in   string
	want []entry
}{
	{"rule 9: N bytes, LF", ping + "\n", []entry{good(ping)}},
	{"rule 9: N bytes, CRLF", ping + "\r\n", []entry{good(ping)}},
	{"rule 9: N bytes, end of stream", ping, []entry{good(ping)}},
	{"rule 9: N bytes after a BOM", bom + ping + "\n", []entry{good(ping)}},
	{"rule 9: N bytes with a CR inside", ping[:39] + "\r\r\n", []entry{syntax(40, ping[:39]+"\r")}},
	{"rule 9: N+1 bytes, LF", ping + " \n", []entry{tooLongPing(ping + " ")}},
	{"rule 9: N+1 bytes, CRLF", ping + " \r\n", []entry{tooLongPing(ping + " ")}},
	{"rule 9: N+1 bytes, end of stream", ping + " ", []entry{tooLongPing(ping + " ")}},
	{"rule 9: N+1 bytes after a BOM", bom + " " + ping + "\n", []entry{tooLongPing(" " + ping)}},
	{"rule 9: N bytes and two CRs", ping + "\r\r\n", []entry{tooLongPing(ping + "\r")}},
	{"rule 9: N bytes and a CR at the end of the stream", ping + "\r", []entry{tooLongPing(ping + "\r")}},
	{"rule 9: in its place", ping + "\n" + strings.Repeat("x", 99) + "\n" + ping + "\n", []entry{good(ping), tooLong(strings.Repeat("x", 99)), good(ping)}},
	{"rule 9: two in a row", strings.Repeat("x", 41) + "\n" + strings.Repeat("y", 4100) + "\r\n" + ping + "\n",
		[]entry{tooLong(strings.Repeat("x", 41)), tooLong(strings.Repeat("y", 4100)), good(ping)}},
	{"rule 9: a line each, not a chunk", strings.Repeat(ping+"\n", 4), []entry{good(ping), good(ping), good(ping), good(ping)}},
	{"rule 9: bytes, not characters", "\"" + strings.Repeat("\u00e9", 20) + "\"\n", []entry{tooLong("\"" + strings.Repeat("\u00e9", 20) + "\"")}},
	{"rule 9: over-long blank line", strings.Repeat(" ", 41) + "\n" + ping + "\n", []entry{good(ping)}},
	{"rule 9: over-long blank line of all blanks", strings.Repeat(" \t\r", 99) + "\r\n" + ping + "\n", []entry{good(ping)}},
	{"rule 9: over-long blank rest", strings.Repeat(" ", 5000), nil},
	{"rule 9: over-long and blank but for its end", strings.Repeat(" ", 5000) + "x\n", []entry{tooLong(strings.Repeat(" ", 5000) + "x")}},
	{"rule 9: over-long, BOM in mid-stream", "\n" + bom + ping + "\n", []entry{tooLong(bom + ping)}},
	{"rule 9: over-long and not UTF-8", strings.Repeat("\xff", 50) + "\n", []entry{tooLong(strings.Repeat("\xff", 50))}},
	{"rule 9: 1023 bytes are kept", strings.Repeat("x", 1023) + "\n", []entry{tooLong(strings.Repeat("x", 1023))}},
	{"rule 9: 1024 bytes are kept", strings.Repeat("x", 1024) + "\n", []entry{tooLong(strings.Repeat("x", 1024))}},
	{"rule 9: of 1025 bytes 1024 are kept", strings.Repeat("x", 1024) + "y\n", []entry{tooLong(strings.Repeat("x", 1024) + "y")}},
	{"rule 9: of 1024 bytes and CRLF all are kept", strings.Repeat("x", 1024) + "\r\n", []entry{tooLong(strings.Repeat("x", 1024))}},
}

func TestWireRules_Limit(t *testing.T) {
	for _, tt := range limitRows {
		t.Run(tt.name, func(t *testing.T) {
			s := stream{in: tt.in, maxLine: len(ping)}
			checkEntries(t, s, readEveryWay(t, s), tt.want)
		})
	}
}

func TestWireRules_LimitInTheReason(t *testing.T) {
	r := framing.LineReader{MaxLine: 1000}
	m := r.Feed([]byte(strings.Repeat("x", 12_345) + "\r\n"))[0]
	var lineErr *framing.LineError
	if !errors.As(m.Err, &lineErr) {
		t.Fatalf("Err = %v, want a *LineError", m.Err)
	}
	for _, number := range []string{"12345", "1000"} {
		if !strings.Contains(strings.ReplaceAll(lineErr.Reason, ",", ""), number) {
			t.Errorf("Reason = %q, want the number %s in it", lineErr.Reason, number)
		}
	}
}

func TestWireRules_LimitEndsAtTheNewline(t *testing.T) {
	r := framing.LineReader{MaxLine: 10}
	if got := r.Feed(bytes.Repeat([]byte("x"), 100)); len(got) != 0 {
		t.Errorf("Feed before the end of an over-long line = %v, want nothing yet", got)
	}
	if got := r.Feed([]byte("\n")); len(got) != 1 {
		t.Errorf("Feed at the end of an over-long line = %v, want one entry", got)
	}
	if _, ok := r.Flush(); ok {
		t.Error("Flush after an over-long line reports an entry, want none")
	}
}

// The default limit and the lack of one, on lines of 64 MiB.
func TestWireRules_LimitDefaults(t *testing.T) {
	for _, tt := range []struct {
		name    string
		maxLine int
		length  int
		class   error
	}{
		{"rule 9: default, N bytes", 0, framing.DefaultMaxLine, framing.ErrInvalidMessage},
		{"rule 9: default, N+1 bytes", 0, framing.DefaultMaxLine + 1, framing.ErrTooLong},
		{"rule 9: no limit", -1, framing.DefaultMaxLine + 1, framing.ErrInvalidMessage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const piece = 1 << 20
			r := framing.LineReader{MaxLine: tt.maxLine}
			chunk := bytes.Repeat([]byte("1"), piece)
			for range tt.length / piece {
				r.Feed(chunk)
			}
			got := r.Feed(append(chunk[:tt.length%piece], '\n'))
			if len(got) != 1 || !errors.Is(got[0].Err, tt.class) {
				t.Errorf("Feed of a line of %d bytes = %d entries, first of class %v; want one, %v", tt.length, len(got), snapshot(got[0]).Class, tt.class)
			}
		})
	}
}

var pad = strings.Repeat("p", 200)

// salvages are lines over a limit of 64 bytes, and what can still be told of them.
var salvages = []struct {
	name       string
	line       string
	id, method string
	members    string // of params, result and error those that were seen
}{
	{"id first", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + pad + `"}}`, `1`, "m", "params"},
	{"id last", `{"method":"m","params":{"a":"` + pad + `"},"jsonrpc":"2.0","id":71}`, `71`, "m", "params"},
	{"id in the middle", `{"a":"` + pad + `","id":-72,"method":"m","b":"` + pad + `"}`, `-72`, "m", ""},
	{"method last", `{"id":1,"params":["` + pad + `"],"method":"tools/call"}`, `1`, "tools/call", "params"},
	{"response, id last", `{"result":{"a":"` + pad + `"},"jsonrpc":"2.0","id":3}`, `3`, "", "result"},
	{"error response", `{"error":{"code":1,"message":"` + pad + `"},"id":3}`, `3`, "", "error"},
	{"result and error", `{"error":{"code":1,"message":"` + pad + `"},"result":1,"id":3}`, `3`, "", "result error"},
	{"result null", `{"x":"` + pad + `","result":null,"id":3}`, `3`, "", "result"},
	{"notification", `{"jsonrpc":"2.0","method":"m","params":{"a":"` + pad + `"}}`, ``, "m", "params"},
	{"id a string", `{"a":"` + pad + `","id":"x-1"}`, `"x-1"`, "", ""},
	{"id an empty string", `{"a":"` + pad + `","id":""}`, `""`, "", ""},
	{"id with escapes keeps its bytes", `{"a":"` + pad + `","id":"\"\\\u0041}"}`, `"\"\\\u0041}"`, "", ""},
	{"id beyond 2^53", `{"a":"` + pad + `","id":9007199254740993}`, `9007199254740993`, "", ""},
	{"id of any number", `{"a":"` + pad + `","id":-1.5e+3}`, `-1.5e+3`, "", ""},
	{"id null", `{"a":"` + pad + `","id":null}`, ``, "", ""},
	{"id true", `{"a":"` + pad + `","id":true}`, ``, "", ""},
	{"id an object", `{"a":"` + pad + `","id":{"id":5}}`, ``, "", ""},
	{"id an array", `{"a":"` + pad + `","id":[5]}`, ``, "", ""},
	{"no id", `{"a":"` + pad + `"}`, ``, "", ""},
	{"id in params alone", `{"params":{"id":5,"method":"x","a":"` + pad + `"}}`, ``, "", "params"},
	{"id in params before the real one", `{"params":{"id":5,"a":[{"id":6}],"b":"` + pad + `"},"id":7}`, `7`, "", "params"},
	{"id in a string", `{"a":"\"id\":5,` + pad + `"}`, ``, "", ""},
	{"id as a value", `{"a":"id","b":"` + pad + `"}`, ``, "", ""},
	{"id after the value id", `{"a":"id","b":"` + pad + `","id":8}`, `8`, "", ""},
	{"names in another case", `{"ID":5,"Id":6,"METHOD":"x","Params":1,"a":"` + pad + `"}`, ``, "", ""},
	{"names that go on", `{"id2":5,"method_":"x","params ":1,"a":"` + pad + `"}`, ``, "", ""},
	{"names that stop short", `{"i":5,"metho":"x","":1,"a":"` + pad + `"}`, ``, "", ""},
	{"escaped names", `{"a":"` + pad + `","\u0069d":9,"m\u0065thod":"m","param\u0073":1}`, `9`, "m", "params"},
	{"names of escapes alone", `{"a":"` + pad + `","\u0069\u0064":9,"\u006d\u0065\u0074\u0068\u006F\u0064":"m","\u0072\u0065\u0073\u0075\u006C\u0074":1}`, `9`, "m", "result"},
	{"escaped name that is another", `{"a":"` + pad + `","i\u0064\u0000":9,"\u0049d":8}`, ``, "", ""},
	{"long name", `{"` + pad + `":1,"id":9}`, `9`, "", ""},
	{"long name that ends in id", `{"` + pad + `id":1,"x":1}`, ``, "", ""},
	{"long name of escapes", `{"` + strings.Repeat(`\u0069`, 50) + `":1,"id":9}`, `9`, "", ""},
	{"method with escapes", `{"a":"` + pad + `","method":"tools\/c\u0061ll\n\ud83d\ude00"}`, ``, "tools/call\n\U0001f600", ""},
	{"method in UTF-8", `{"a":"` + pad + `","method":"` + "\u00e9\u20ac\U0001f389" + `"}`, ``, "\u00e9\u20ac\U0001f389", ""},
	{"method a number", `{"a":"` + pad + `","method":5,"id":1}`, `1`, "", ""},
	{"method an object", `{"a":"` + pad + `","method":{"method":"x"},"id":1}`, `1`, "", ""},
	{"repeated id: the first counts", `{"id":1,"a":"` + pad + `","id":2}`, `1`, "", ""},
	{"repeated method: the first counts", `{"method":"a","a":"` + pad + `","method":"b"}`, ``, "a", ""},
	{"repeated after a wrong type", `{"id":null,"a":"` + pad + `","id":2,"method":1,"method":"b"}`, ``, "", ""},
	{"white space everywhere", " \t{ \"a\" : \"" + pad + "\" ,\r\"id\"\t:\r 4 , \"method\" : \"m\" } ", `4`, "m", ""},
	{"brackets in strings", `{"a":"}]{[` + pad + `","b":{"c":"}"},"id":4}`, `4`, "", ""},
	{"quotes and backslashes", `{"a":"\\","b":"\"` + pad + `\\\"","c\\":"\\\\","id":4}`, `4`, "", ""},
	{"nested deep", `{"a":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + `,"id":4}`, `4`, "", ""},
	{"nested mixed", `{"a":[{"b":[{"c":"` + pad + `"}]},[],{}],"id":4}`, `4`, "", ""},
	{"scalars of every kind", `{"a":"` + pad + `","b":true,"c":false,"d":null,"e":-1.5e-5,"id":4}`, `4`, "", ""},
	{"a batch", `[{"id":1,"method":"m"},{"id":2,"a":"` + pad + `"}]`, ``, "", ""},
	{"a string", `"` + pad + `"`, ``, "", ""},
	{"text", `id: 5 ` + pad, ``, "", ""},
	{"1024 bytes of id", `{"id":"` + strings.Repeat("i", 1022) + `","method":"m"}`, `"` + strings.Repeat("i", 1022) + `"`, "m", ""},
	{"1025 bytes of id", `{"id":"` + strings.Repeat("i", 1023) + `","method":"m"}`, ``, "m", ""},
	{"1024 digits of id", `{"id":` + strings.Repeat("1", 1024) + `,"method":"m"}`, strings.Repeat("1", 1024), "m", ""},
	{"1025 digits of id", `{"id":` + strings.Repeat("1", 1025) + `,"method":"m"}`, ``, "m", ""},
	{"1024 bytes of method", `{"method":"` + strings.Repeat("m", 1024) + `","id":1}`, `1`, strings.Repeat("m", 1024), ""},
	{"1025 bytes of method", `{"method":"` + strings.Repeat("m", 1025) + `","id":1}`, `1`, "", ""},
}

func TestSalvage(t *testing.T) {
	for _, tt := range salvages {
		for _, end := range []string{"\n", "\r\n", ""} {
			t.Run(fmt.Sprintf("rule 9: %s, end %q", tt.name, end), func(t *testing.T) {
				s := stream{in: tt.line + end, maxLine: 64}
				want := tooLong(tt.line)
				want.ID, want.Method = tt.id, tt.method
				got := readEveryWay(t, s)
				checkEntries(t, s, got, []entry{want})
				var r framing.LineReader
				r.MaxLine = 64
				if id := r.Feed([]byte(tt.line + "\n"))[0].ID; cap(id) != len(id) {
					t.Errorf("the id of %.60q has room for %d bytes behind it", tt.line, cap(id)-len(id))
				}
				if members := seen(got[0]); members != tt.members {
					t.Errorf("members seen in %q = %q, want %q", tt.line, members, tt.members)
				}
			})
		}
	}
}

// Where the limit falls must not matter: so it falls on every byte of some lines.
func TestSalvage_EveryLimit(t *testing.T) {
	for _, tt := range []struct{ name, line, id, method string }{
		{"rule 9: id first", `{"id":"a\"b","method":"m\u0061","params":{"id":2,"x":[1,{}]}}`, `"a\"b"`, "ma"},
		{"rule 9: id last", `{"method":"m","a\\":"}\\","result":{"id":[2],"y":"\""},"\u0069d":12345}`, `12345`, "m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for limit := 1; limit < len(tt.line); limit++ {
				for _, c := range cuttings(len(tt.line) + 1) {
					r := framing.LineReader{MaxLine: limit}
					got := snapshotAll(feed(t, &r, tt.line+"\n", c))
					if len(got) != 1 || got[0].ID != tt.id || got[0].Method != tt.method || got[0].Class != framing.ErrTooLong {
						t.Fatalf("limit %d, cut %v: got %+v, want one with id %s and method %s", limit, c, got, tt.id, tt.method)
					}
				}
			}
		})
	}
}

// reasons are what a person is told, by a word that must be there.
var reasons = []struct {
	name string
	in   string
	at   int
	word string
}{
	{"rule 11: Content-Length framing", "Content-Length: 40\r\n\r\n", 0, "Content-Length"},
	{"rule 11: Content-Length in small letters", "content-length: 40\r\n\r\n", 0, "Content-Length"},
	{"rule 11: UTF-16 with a BOM, little endian", bomLE16 + "{\x00}\x00\n", 0, "UTF-16"},
	{"rule 11: UTF-16 with a BOM, big endian", "\xfe\xff\x00{\x00}\n", 0, "UTF-16"},
	{"rule 11: UTF-16 without a BOM, little endian", "{\x00\"\x00a\x00\"\x00:\x001\x00}\x00\n", 1, "UTF-16"},
	{"rule 11: UTF-16 without a BOM, big endian", "\x00{\x00\"\x00a\x00\"\x00:\x001\x00}\n", 0, "UTF-16"},
	{"rule 11: BOM in mid-stream", "\n" + bom + ping + "\n", 0, "byte order mark"},
	{"rule 11: two JSON texts", ping + ping + "\n", 40, "two JSON texts"},
	{"rule 11: two JSON texts, spaced", ping + "  " + ping + "\n", 42, "two JSON texts"},
	{"rule 11: two JSON texts, a lone CR between", ping + "\r" + ping + "\n", 41, "two JSON texts"},
	{"rule 11: log line", "Server ready on stdio\n", 0, "log line"},
	{"rule 11: text before the JSON", "INFO " + ping + "\n", 0, "text before"},
	{"rule 11: text after the JSON", ping + " done\n", 41, "text after"},
	{"rule 11: message broken over several lines", "{\n", 1, "broken over several lines"},
	{"rule 11: message broken after a comma", `{"a":1,` + "\r\n", 7, "broken over several lines"},
	{"rule 11: message broken inside a string", `{"a":"b` + "\n", 7, "broken over several lines"},
	{"rule 11: NaN", `{"a":NaN}` + "\n", 5, "NaN"},
	{"rule 11: Infinity", `{"a":Infinity}` + "\n", 5, "Infinity"},
	{"rule 11: minus Infinity", `{"a":-Infinity}` + "\n", 6, "Infinity"},
	{"rule 11: single quotes around a name", `{'a':1}` + "\n", 1, "single quotes"},
	{"rule 11: single quotes around a value", `{"a":'b'}` + "\n", 5, "single quotes"},
}

func TestWireRules_Reasons(t *testing.T) {
	for _, tt := range reasons {
		t.Run(tt.name, func(t *testing.T) {
			got := readEveryWay(t, stream{in: tt.in})
			if len(got) == 0 || got[0].Kind != framing.Malformed {
				t.Fatalf("Feed(%q) = %+v, want a bad line", tt.in, got)
			}
			if got[0].Offset != tt.at || !strings.Contains(strings.ToLower(got[0].Reason), strings.ToLower(tt.word)) {
				t.Errorf("Feed(%q): reason %q at byte %d, want %q at byte %d", tt.in, got[0].Reason, got[0].Offset, tt.word, tt.at)
			}
		})
	}
}

// A reader that works in blocks has its seams where lines and chunks meet the ends of blocks; any power of two might be one.
func TestWireRules_Seams(t *testing.T) {
	for _, size := range []int{4 << 10, 64 << 10, 128 << 10} {
		for _, off := range []int{-2, -1, 0, 1, 2} {
			t.Run(fmt.Sprintf("rule 8: line of %d bytes", size+off), func(t *testing.T) {
				large := largeMessage(size + off)
				first := len(large) - 1 - len(ping) // so that two lines together fill a block, too
				in := fmt.Sprintf("%s\n%s%s\r\n%s%s\n%s%s", ping, large, ping, largeMessage(first), ping, large, large[:size/2])
				s := stream{in: in, sizes: []int{size + off, size}}
				if diff := compareWithOracle(s, readEveryWay(t, s)); diff != "" {
					t.Error(diff)
				}
				s.maxLine = size
				if diff := compareWithOracle(s, readEveryWay(t, s)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestFlush_StartsANewStream(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first string
		rest  bool
	}{
		{"after a rest", ping, true},
		{"after a whole line", ping + "\n", false},
		{"after half a message", `{"id":`, true},
		{"after half a sequence", "\"\xe2", true},
		{"after a third of a BOM", "\xef", true},
		{"after a CR", ping + "\r", true},
		{"after an over-long rest", strings.Repeat("x", 100), true},
		{"after an over-long blank rest", strings.Repeat(" ", 100), false},
		{"after nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := framing.LineReader{MaxLine: 50}
			r.Feed([]byte(tt.first))
			if _, rest := r.Flush(); rest != tt.rest {
				t.Errorf("Flush() after %q reports %v, want %v", tt.first, rest, tt.rest)
			}
			if n := r.Buffered(); n != 0 {
				t.Errorf("Buffered() after Flush = %d, want 0", n)
			}
			got := snapshotAll(r.Feed([]byte(bom + ping + "\n"))) // the BOM is one at the start of a stream again
			if len(got) != 1 || !got[0].matches(good(ping)) {
				t.Errorf("Feed after Flush = %+v, want a ping", got)
			}
			if m, ok := r.Flush(); ok {
				t.Errorf("second Flush() = %+v, want nothing", m)
			}
		})
	}
}

func TestFeed_OwnsNothingOfTheChunk(t *testing.T) {
	var r framing.LineReader
	chunk := make([]byte, 0, 256)
	chunk = append(chunk, ping+"\n"+ping+"\n{\"id\":2,"...)
	first := r.Feed(chunk)
	copy(chunk, bytes.Repeat([]byte("!"), len(chunk)))
	rest := r.Feed([]byte("\"result\":0,\"jsonrpc\":\"2.0\"}\n"))
	for _, m := range first {
		if string(m.Line) != ping || string(m.ID) != "1" {
			t.Errorf("Line, ID = %q, %q after the chunk was reused, want %q, 1", m.Line, m.ID, ping)
		}
	}
	if len(rest) != 1 || string(rest[0].ID) != "2" || rest[0].Kind != framing.Response {
		t.Errorf("Feed = %+v, want the response 2", rest)
	}
}

// Whoever writes into a message of his own must not change what comes later, nor the other messages.
func TestFeed_MessagesAreTheCallers(t *testing.T) {
	var r framing.LineReader
	for i := range 2000 {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":%d}}`, i, i)
		in := line + "\n" + line + "\n"
		got := feed(t, &r, in, []int{7 + i%60})
		if len(got) != 2 || string(got[0].Line) != line {
			t.Fatalf("Feed(%q) = %+v, want it twice", in, snapshotAll(got))
		}
		poison(got[0].Line)
		if string(got[1].Line) != line || string(got[1].ID) != strconv.Itoa(i) {
			t.Fatalf("second message = %q, id %s; want %q", got[1].Line, got[1].ID, line)
		}
		poison(got[1].Line)
	}
}

func TestReader_DeliversWithoutAnotherRead(t *testing.T) {
	src := &script{steps: []step{{data: ping + "\n" + ping + "\n"}, {data: "{"}}}
	r := framing.NewReader(src)
	for i := range 2 {
		if m, err := r.ReadMessage(); err != nil || string(m.Line) != ping {
			t.Errorf("ReadMessage %d = %q, %v, want a ping", i, m.Line, err)
		}
		if src.reads != 1 {
			t.Errorf("after message %d there were %d reads, want 1", i, src.reads)
		}
	}
}

func TestReader_PassesErrorsThrough(t *testing.T) {
	errDisk := errors.New("disk on fire")
	src := &script{steps: []step{
		{data: ping + "\n{\"id\"", err: errDisk}, // data together with the error
		{err: errDisk},
		{data: ":2}"},
		{err: errDisk},
		{data: "\n"},
		{data: ping, err: io.EOF},
	}}
	r := framing.NewReader(src)
	want := []string{ping, "disk on fire", "disk on fire", "disk on fire", `{"id":2}`, ping, "EOF", "EOF"}
	for i, want := range want {
		m, err := r.ReadMessage()
		got := string(m.Line)
		if err != nil {
			got = err.Error()
			if err != errDisk && err != io.EOF {
				t.Errorf("ReadMessage %d: error %#v is not the reader's own", i, err)
			}
		}
		if got != want {
			t.Errorf("ReadMessage %d = %q, want %q", i, got, want)
		}
	}
}

func TestReader_NoProgress(t *testing.T) {
	r := framing.NewReader(&script{forever: true})
	if _, err := r.ReadMessage(); err != io.ErrNoProgress {
		t.Errorf("ReadMessage from a reader that gives nothing: %v, want io.ErrNoProgress", err)
	}
	lazy := &script{steps: []step{{}, {}, {data: ping[:5]}, {}, {}, {data: ping[5:] + "\n"}, {}}}
	if m, err := framing.NewReader(lazy).ReadMessage(); err != nil || string(m.Line) != ping {
		t.Errorf("ReadMessage from a reader that sometimes gives nothing = %q, %v, want a ping", m.Line, err)
	}
}

func TestReader_All(t *testing.T) {
	const in = ping + "\nlog\n" + ping
	errDisk := errors.New("disk on fire")
	for _, tt := range []struct {
		name string
		r    io.Reader
		stop int // after so many
		want string
	}{
		{"to the end", strings.NewReader(in), 9, "request malformed request"},
		{"empty stream", strings.NewReader(""), 9, ""},
		{"stopped", strings.NewReader(in), 2, "request malformed"},
		{"stopped at the last", strings.NewReader(in), 3, "request malformed request"},
		{"broken stream", io.MultiReader(strings.NewReader(ping+"\n{"), iotest.ErrReader(errDisk)), 9, "request disk on fire"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for m, err := range framing.NewReader(tt.r).All() {
				if err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, m.Kind.String())
				}
				if len(got) == tt.stop {
					break
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("All() = %s, want %s", s, tt.want)
			}
		})
	}
}

func TestReader_AllGoesOnAfterABreak(t *testing.T) {
	r := framing.NewReader(strings.NewReader("[1]\n[2]\n[3]\n"))
	var got []string
	for range 3 {
		for m, err := range r.All() {
			got = append(got, fmt.Sprint(string(m.Line), err))
			break
		}
	}
	if want := []string{"[1]<nil>", "[2]<nil>", "[3]<nil>"}; !slices.Equal(got, want) {
		t.Errorf("three loops over All() = %v, want %v", got, want)
	}
}

func TestReader_MaxLine(t *testing.T) {
	r := framing.NewReader(strings.NewReader(ping + "\n" + ping + " \n"))
	r.MaxLine = len(ping)
	if m, err := r.ReadMessage(); err != nil || m.Kind != framing.Request {
		t.Errorf("ReadMessage at the limit = %v, %v, want a request", m.Kind, err)
	}
	if m, err := r.ReadMessage(); err != nil || !errors.Is(m.Err, framing.ErrTooLong) || string(m.ID) != "1" {
		t.Errorf("ReadMessage over the limit = %v (id %s), %v, want ErrTooLong (id 1)", m.Err, m.ID, err)
	}
}

// Reading small messages costs a tenth of an allocation each, at most.
func TestReader_Allocations(t *testing.T) {
	const n = 20_000
	in := bytes.Repeat([]byte(ping+"\n"), n)
	perRun := testing.AllocsPerRun(3, func() {
		r := framing.NewReader(bytes.NewReader(in))
		for range n {
			if m, err := r.ReadMessage(); err != nil || m.Kind != framing.Request {
				t.Fatalf("ReadMessage = %v, %v, want a request", m.Kind, err)
			}
		}
	})
	if perMessage := perRun / n; perMessage >= 0.1 {
		t.Errorf("ReadMessage: %.3f allocations a message, want less than 0.1", perMessage)
	}
}

// largeLines are the sizes at which a buffer that doubles looks best and worst.
var largeLines = []int{1 << 20, 1<<20 + 4096, 3 << 19, 5_000_000, 1<<23 + 1}

func TestMemory_AllocatedForALine(t *testing.T) {
	for _, n := range largeLines {
		for _, way := range largeWays {
			t.Run(fmt.Sprintf("%s, %d bytes", way.name, n), func(t *testing.T) {
				in := largeMessage(n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				m, _ := way.read(in)
				runtime.ReadMemStats(&after)
				if len(m.Line) != n {
					t.Fatalf("read a line of %d bytes, want %d", len(m.Line), n)
				}
				perByte := float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
				if perByte > 2.2 {
					t.Errorf("allocated %.2f bytes a byte of line, want at most 2.2", perByte)
				}
			})
		}
	}
}

// slack is what a reader may hold whatever it has read: its block and the runtime's odds and ends.
const slack = 256 << 10

func TestMemory_HeldAfterDelivery(t *testing.T) {
	for _, n := range largeLines {
		for _, way := range largeWays {
			t.Run(fmt.Sprintf("%s, %d bytes", way.name, n), func(t *testing.T) {
				in := largeMessage(n)
				before := heapInUse()
				m, reader := way.read(in)
				if held := heapInUse() - before; held > n*11/10+slack {
					t.Errorf("held %d bytes with a message of %d, want at most 1 a byte", held, n)
				}
				runtime.KeepAlive(m)
				m = framing.Message{}
				if held := heapInUse() - before; held > slack {
					t.Errorf("held %d bytes after the message of %d was dropped, want at most %d", held, n, slack)
				}
				runtime.KeepAlive(reader)
			})
		}
	}
}

// A line that outgrew its block takes the block along: no reader keeps an empty one.
func TestMemory_HeldForALineOfTwoBlocks(t *testing.T) {
	const n, rounds = 100_000, 32
	in := largeMessage(n)
	var messages [rounds]framing.Message
	var readers [rounds]any
	for _, way := range largeWays {
		before := heapInUse()
		for i := range rounds {
			messages[i], readers[i] = way.read(in)
		}
		if held := (heapInUse() - before) / rounds; held > n*12/10 {
			t.Errorf("%s: held %d bytes with a message of %d, want little more than 1 a byte", way.name, held, n)
		}
		clear(messages[:])
		clear(readers[:])
	}
}

// A small message must not keep the buffer of a large neighbour.
func TestMemory_SmallMessageAmongLarge(t *testing.T) {
	const rounds, large = 32, 1 << 20
	in := append(append([]byte(ping+"\n"), largeMessage(large)...), ping+"\n"...)
	var r framing.LineReader
	var kept []framing.Message
	before := heapInUse()
	for range rounds {
		for chunk := range slices.Chunk(in, 64<<10) {
			for _, m := range r.Feed(chunk) {
				if len(m.Line) == len(ping) {
					kept = append(kept, m)
				}
			}
		}
	}
	if held := heapInUse() - before; held > rounds*2*(128<<10) {
		t.Errorf("%d small messages hold %d bytes, want at most 128 KiB each", len(kept), held)
	}
	if len(kept) != 2*rounds {
		t.Errorf("kept %d messages, want %d", len(kept), 2*rounds)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(&r)
}

func TestMemory_OverLongLine(t *testing.T) {
	const limit, total = 1 << 20, 16 << 20
	for _, tt := range []struct{ name, start, fill string }{
		{"rule 9: text", "", "x"},
		{"rule 9: blanks", "", " "},
		{"rule 9: arrays", "", "["},
		{"rule 9: objects", "", `{"a":`},
		{"rule 9: string", `{"a":"`, "y"},
		{"rule 9: name", `{"`, "id"},
		{"rule 9: name of escapes", `{"`, `\u0069`},
		{"rule 9: id", `{"id":"`, "9"},
		{"rule 9: id of escapes", `{"id":"`, `\"`},
		{"rule 9: number", `{"id":`, "9"},
		{"rule 9: method", `{"method":"`, "m"},
		{"rule 9: members", `{"a":0`, `,"id":"0123456789"`},
		{"rule 9: NULs", "", "\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chunk := []byte(strings.Repeat(tt.fill, (64<<10)/len(tt.fill)))
			r := framing.LineReader{MaxLine: limit}
			before := heapInUse()
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			r.Feed([]byte(tt.start))
			for fed := 0; fed < total; fed += len(chunk) {
				r.Feed(chunk)
				if n := r.Buffered(); n > limit+slack {
					t.Fatalf("Buffered() = %d with a limit of %d", n, limit)
				}
			}
			runtime.ReadMemStats(&end)
			if held := heapInUse() - before; held > limit+slack {
				t.Errorf("held %d bytes with a limit of %d", held, limit)
			}
			if allocated := int(end.TotalAlloc - start.TotalAlloc); allocated > limit*22/10+slack {
				t.Errorf("allocated %d bytes with a limit of %d, want at most 2.2 a byte", allocated, limit)
			}
			r.Feed([]byte("\n"))
			if held := heapInUse() - before; held > slack {
				t.Errorf("held %d bytes after the line, want at most %d", held, slack)
			}
		})
	}
}

// A line that is too long by what comes last, with its newline, is not put together.
func TestMemory_OverLongByItsLastPiece(t *testing.T) {
	const limit, piece = 4 << 20, 64 << 10
	for _, over := range []int{1, 2, piece - 1} {
		in := append(largeMessage(limit+over), '\n')
		read := func() (ms []framing.Message) {
			r := framing.LineReader{MaxLine: limit}
			for chunk := range slices.Chunk(in, piece) {
				ms = append(ms, r.Feed(chunk)...)
			}
			return ms
		}
		read() // so that the parts are there
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ms := read()
		runtime.ReadMemStats(&after)
		if len(ms) != 1 || !errors.Is(ms[0].Err, framing.ErrTooLong) {
			t.Fatalf("%d bytes over the limit: got %+v, want one entry that is too long", over, snapshotAll(ms))
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > limit/2 {
			t.Errorf("%d bytes over the limit of %d: allocated %d bytes, want no second copy", over, limit, allocated)
		}
	}
}

// The size in the reason is right beyond 2 GiB, where an int of 32 bits ends.
func TestWireRules_LineOfMoreThan2GiB(t *testing.T) {
	if strconv.IntSize > 32 {
		t.Skip("2 GiB are for an int of 32 bits: GOARCH=386")
	}
	r := framing.LineReader{MaxLine: 100}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 2<<10 + 1 {
		r.Feed(chunk)
	}
	ms := r.Feed([]byte("\n"))
	if len(ms) != 1 || !strings.Contains(fmt.Sprint(ms[0].Err), "2148532224 bytes") {
		t.Errorf("rule 9: got %+v, want one entry of 2148532224 bytes", snapshotAll(ms))
	}
}

// The limit in the reason is the one that the line has passed.
func TestWireRules_LimitRaisedInMidLine(t *testing.T) {
	r := framing.LineReader{MaxLine: 10}
	r.Feed([]byte(strings.Repeat("x", 20)))
	r.MaxLine = 1000
	ms := r.Feed([]byte("x\n"))
	var e *framing.LineError
	if len(ms) != 1 || !errors.As(ms[0].Err, &e) || e.Offset != 10 || !strings.Contains(e.Reason, "has 21 bytes, the limit is 10") {
		t.Errorf("rule 9: got %+v, want one entry of 21 bytes with a limit of 10", snapshotAll(ms))
	}
}

// ---- Expectations ----

// entry is a Message as a test sees it: a copy that can be compared. Of the raw members "" is absent and "(empty)" present without bytes.
type entry struct {
	Kind                      framing.Kind
	Line                      string
	ID, Params, Result, Error string
	Method                    string
	Class                     error
	Offset                    int
	Reason                    string
}

// What stands in an expectation for what the rules leave open.
var anyClass = errors.New("any class")

const anyOffset = -1

func good(line string) entry  { return entry{Kind: framing.Request, Line: line} }
func batch(line string) entry { return entry{Kind: framing.Batch, Line: line} }

func invalid(line string) entry {
	return entry{Kind: framing.Invalid, Line: line, Class: framing.ErrInvalidMessage, Offset: anyOffset}
}

func bad(class error, at int, line string) entry {
	return entry{Kind: framing.Malformed, Line: line, Class: class, Offset: at}
}

func syntax(at int, line string) entry  { return bad(framing.ErrSyntax, at, line) }
func badUTF8(at int, line string) entry { return bad(framing.ErrInvalidUTF8, at, line) }
func cutOff(line string) entry          { return bad(io.ErrUnexpectedEOF, len(line), line) }

// tooLongPing is tooLong for a line with ping's id and method in it.
func tooLongPing(line string) entry {
	e := tooLong(line)
	e.ID, e.Method = "1", "ping"
	return e
}

func tooLong(line string) entry {
	return bad(framing.ErrTooLong, anyOffset, line[:min(len(line), 1024)])
}

// matches reports whether e is as want says, in the fields that every row of a table gives.
func (e entry) matches(want entry) bool {
	return e.Kind == want.Kind && e.Line == want.Line &&
		(want.Class == anyClass && e.Class != nil || e.Class == want.Class && (want.Offset == anyOffset || e.Offset == want.Offset))
}

// checkEntries compares what was read of s with the row of the table, and with the oracle.
func checkEntries(t *testing.T, s stream, got, want []entry) {
	t.Helper()
	if !slices.EqualFunc(got, want, entry.matches) {
		t.Errorf("read %.300q\n got %.2000s\nwant %.2000s", s.in, list(got), list(want))
	}
	for i, want := range want {
		if want.Class == framing.ErrTooLong && i < len(got) && (got[i].ID != want.ID || got[i].Method != want.Method) {
			t.Errorf("read %.300q\n got id %q, method %q\nwant id %q, method %q", s.in, got[i].ID, got[i].Method, want.ID, want.Method)
		}
	}
	if diff := compareWithOracle(s, got); diff != "" {
		t.Error(diff)
	}
}

func list(entries []entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "\n\t%v %.120q id %q method %q params %.40q result %.40q error %.40q class %v at %d: %s", e.Kind, e.Line, e.ID, e.Method, e.Params, e.Result, e.Error, e.Class, e.Offset, e.Reason)
	}
	return b.String()
}

// seen names the members of an over-long line that were there.
func seen(e entry) string {
	var names []string
	for _, member := range []struct{ name, raw string }{{"params", e.Params}, {"result", e.Result}, {"error", e.Error}} {
		if member.raw != "" {
			names = append(names, member.name)
		}
	}
	return strings.Join(names, " ")
}

// snapshot copies what m refers to.
func snapshot(m framing.Message) entry {
	e := entry{
		Kind: m.Kind, Line: string(m.Line), Method: strings.Clone(m.Method),
		ID: rawText(m.ID), Params: rawText(m.Params), Result: rawText(m.Result), Error: rawText(m.ErrorObject),
	}
	if m.Err == nil {
		return e
	}
	var lineErr *framing.LineError
	if !errors.As(m.Err, &lineErr) {
		e.Reason = fmt.Sprintf("%T instead of a *LineError", m.Err)
		return e
	}
	e.Offset, e.Reason = lineErr.Offset, lineErr.Reason
	for _, class := range []error{framing.ErrTooLong, framing.ErrInvalidUTF8, io.ErrUnexpectedEOF, framing.ErrSyntax, framing.ErrInvalidMessage} {
		if errors.Is(m.Err, class) {
			e.Class = class
			break
		}
	}
	return e
}

func snapshotAll(ms []framing.Message) []entry {
	var entries []entry
	for _, m := range ms {
		entries = append(entries, snapshot(m))
	}
	return entries
}

func rawText(raw []byte) string {
	if raw != nil && len(raw) == 0 {
		return "(empty)"
	}
	return string(raw)
}

// ---- The chunk matrix ----

// stream is what a peer writes, and how it is read.
type stream struct {
	in      string
	maxLine int
	open    bool  // nothing follows: the stream has no end yet
	sizes   []int // one more way to cut it
}

// readEveryWay reads s through LineReader and Reader, cut in every way of the matrix, and returns its entries, which must be the same
// each time (rule 8). It checks what every message promises: its bytes are its own, and fit its error (rule 10).
func readEveryWay(t testing.TB, s stream) []entry {
	t.Helper()
	var want []entry
	same := func(way string, got []entry) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("read %.300q, %s\n got %.2000s\nread whole%.2000s", s.in, way, list(got), list(want))
		}
	}
	ways := cuttings(len(s.in))
	if s.sizes != nil {
		ways = append(ways, s.sizes)
	}
	r := &framing.LineReader{MaxLine: s.maxLine}
	for i, sizes := range ways {
		// After Flush a reader is as good as new. A new one for each way costs the race detector minutes.
		if i == 1 || s.open {
			r = &framing.LineReader{MaxLine: s.maxLine}
		}
		for range 2 {
			got := readLines(t, r, s, sizes)
			if i == 0 && want == nil {
				want = got
			}
			same(fmt.Sprintf("Feed in pieces of %v", sizes), got)
			if s.open {
				break
			}
		}
	}
	for _, src := range sources(s) {
		same("ReadMessage from "+src.name, readMessages(t, s, src.r))
	}
	return want
}

// cuttings returns the ways to cut n bytes: each is a list of sizes, used in turn and over again. The first is the whole.
func cuttings(n int) [][]int {
	ways := [][]int{{max(n, 1)}, {64 << 10}, {4096}, {61}}
	if n <= 1<<15 {
		ways = append(ways, []int{1}, []int{2}, []int{3}, []int{7}, []int{1, 0}, []int{8, 1, 15})
	}
	if n <= 400 {
		for i := 1; i < n; i++ {
			ways = append(ways, []int{i, n})
		}
	}
	return ways
}

func readLines(t testing.TB, r *framing.LineReader, s stream, sizes []int) []entry {
	t.Helper()
	ms := feed(t, r, s.in, sizes)
	if !s.open {
		if m, ok := r.Flush(); ok {
			ms = append(ms, m)
		}
		if n := r.Buffered(); n != 0 {
			t.Fatalf("Buffered() after Flush = %d, want 0", n)
		}
	}
	return checkOwnership(t, ms, snapshotAll(ms))
}

// feed feeds in to r in pieces, each of which is overwritten as soon as Feed is back.
func feed(t testing.TB, r *framing.LineReader, in string, sizes []int) []framing.Message {
	t.Helper()
	var ms []framing.Message
	buf := make([]byte, min(len(in), slices.Max(sizes))+8)
	for i := 0; len(in) > 0; i++ {
		n := min(sizes[i%len(sizes)], len(in))
		poison(buf)
		copy(buf, in[:n])
		ms = append(ms, r.Feed(buf[:n])...)
		if string(buf[:n]) != in[:n] || string(buf[n:n+8]) != poisoned {
			t.Fatalf("Feed wrote to its chunk %.300q", in[:n])
		}
		in = in[n:]
		poison(buf)
	}
	return ms
}

const poisoned = "!!!!!!!!"

// poison writes over b. It copies, because the race detector takes a minute to look at each byte of each buffer.
func poison(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, poisons):]
	}
}

var poisons = bytes.Repeat([]byte(poisoned), 1<<10)

// checkOwnership checks that nothing has written to a message since it was delivered, and that an append to one of its slices reaches
// neither the other slices nor the other messages. It returns the entries.
func checkOwnership(t testing.TB, ms []framing.Message, delivered []entry) []entry {
	t.Helper()
	unchanged := func(what string) {
		for i, m := range ms {
			if got := snapshot(m); got != delivered[i] {
				t.Fatalf("message changed after %s\n got %.2000s\nwant %.2000s", what, list([]entry{got}), list(delivered[i:i+1]))
			}
		}
	}
	unchanged("its delivery")
	for _, m := range ms {
		checkSpot(t, m)
		if cap(m.Line) != len(m.Line) {
			t.Fatalf("line of %d bytes with a capacity of %d: %.200q", len(m.Line), cap(m.Line), m.Line)
		}
		for _, slice := range [][]byte{m.Line, m.ID, m.Params, m.Result, m.ErrorObject} {
			if slice != nil {
				_ = append(slice, poisoned...)
				poison(slice[len(slice):cap(slice)])
			}
		}
	}
	unchanged("an append to one of the slices")
	return delivered
}

// checkSpot checks that a bad line says where, and a good one nothing.
func checkSpot(t testing.TB, m framing.Message) {
	t.Helper()
	isBad := m.Kind == framing.Malformed || m.Kind == framing.Invalid
	e := snapshot(m)
	if isBad != (m.Err != nil) || isBad != (e.Class != nil) || isBad != (e.Reason != "") {
		t.Fatalf("kind %v with error %v, class %v, reason %q: line %.100q", m.Kind, m.Err, e.Class, e.Reason, m.Line)
	}
	if e.Class != framing.ErrTooLong && (e.Offset < 0 || e.Offset > len(m.Line)) {
		t.Fatalf("offset %d in a line of %d bytes: %.100q", e.Offset, len(m.Line), m.Line)
	}
}

// ---- Readers ----

type source struct {
	name string
	r    io.Reader
}

// sources returns s as readers with the manners, good and bad, that io.Reader allows.
func sources(s stream) []source {
	whole := func() io.Reader {
		if s.open {
			return io.MultiReader(strings.NewReader(s.in), iotest.ErrReader(errStillOpen))
		}
		return strings.NewReader(s.in)
	}
	all := []source{
		{"a plain reader", whole()},
		{"a reader that halves", iotest.HalfReader(whole())},
		{"a reader that gives data together with the end", iotest.DataErrReader(whole())},
		{"a reader that uses the buffer as scratch space", &scribbler{r: whole()}},
		{"a reader that fails now and then", &flaky{r: whole(), n: 1000}},
		{"a reader that gives nothing now and then", &flaky{r: whole(), n: 1000, quiet: true}},
	}
	if len(s.in) <= 1<<17 {
		all = append(all,
			source{"a reader of single bytes", iotest.OneByteReader(whole())},
			source{"a reader of three bytes that fails", &flaky{r: whole(), n: 3}},
			source{"a reader of single bytes that gives the last with the end", iotest.DataErrReader(iotest.OneByteReader(whole()))},
			source{"a reader of seven bytes that uses the buffer as scratch space", &scribbler{r: &flaky{r: whole(), n: 7, quiet: true}}})
	}
	return all
}

func readMessages(t testing.TB, s stream, src io.Reader) []entry {
	t.Helper()
	r := framing.NewReader(src)
	r.MaxLine = s.maxLine
	var ms []framing.Message
	var delivered []entry
	for {
		m, err := r.ReadMessage()
		switch err {
		case nil:
			ms, delivered = append(ms, m), append(delivered, snapshot(m))
		case errFlaky:
		case io.EOF, errStillOpen:
			if s.open != (err == errStillOpen) {
				t.Fatalf("ReadMessage at the end of %.300q: %v", s.in, err)
			}
			return checkOwnership(t, ms, delivered)
		default:
			t.Fatalf("ReadMessage of %.300q: %v", s.in, err)
		}
	}
}

var (
	errStillOpen = errors.New("the stream is still open")
	errFlaky     = errors.New("try again")
)

// flaky gives n bytes a call, at most, and every second time an error, or nothing at all if it is quiet.
type flaky struct {
	r     io.Reader
	n     int
	quiet bool
	calls int
}

func (f *flaky) Read(p []byte) (int, error) {
	f.calls++
	if f.calls%2 == 1 {
		if f.quiet {
			return 0, nil
		}
		return 0, errFlaky
	}
	n, err := f.r.Read(p[:min(len(p), f.n)])
	if err == nil && f.calls%4 == 0 && !f.quiet {
		err = errFlaky
	}
	return n, err
}

// scribbler writes over the part of the buffer that it did not fill, as io.Reader allows.
type scribbler struct{ r io.Reader }

func (s *scribbler) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	poison(p[n:])
	return n, err
}

// script is a reader that does one step a call, and then says io.EOF, or gives nothing for ever.
type script struct {
	steps   []step
	forever bool
	reads   int
}

type step struct {
	data string
	err  error
}

func (s *script) Read(p []byte) (int, error) {
	s.reads++
	if len(s.steps) == 0 {
		if s.forever {
			return 0, nil
		}
		return 0, io.EOF
	}
	now := s.steps[0]
	s.steps = s.steps[1:]
	return copy(p, now.data), now.err
}

// ---- Memory ----

// largeWays are the ways to read one large message; each returns its reader too, to keep it alive.
var largeWays = []struct {
	name string
	read func(in []byte) (framing.Message, any)
}{
	{"Feed whole", func(in []byte) (framing.Message, any) { return feedLarge(in, len(in)) }},
	{"Feed 64 KiB", func(in []byte) (framing.Message, any) { return feedLarge(in, 64<<10) }},
	{"Feed 4 KiB", func(in []byte) (framing.Message, any) { return feedLarge(in, 4<<10) }},
	{"Feed 16 bytes", func(in []byte) (framing.Message, any) { return feedLarge(in, 16) }},
	{"Reader", func(in []byte) (framing.Message, any) { return readLarge(bytes.NewReader(in)) }},
	{"Reader of 4 KiB", func(in []byte) (framing.Message, any) { return readLarge(&pieces{in, 4 << 10}) }},
}

func feedLarge(in []byte, size int) (m framing.Message, reader any) {
	r := new(framing.LineReader)
	for chunk := range slices.Chunk(in, size) {
		for _, got := range r.Feed(chunk) {
			m = got
		}
	}
	return m, r
}

func readLarge(src io.Reader) (m framing.Message, reader any) {
	r := framing.NewReader(src)
	m, _ = r.ReadMessage()
	return m, r
}

// pieces gives its bytes in pieces, without allocating.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), p.n)], p.rest)
	p.rest = p.rest[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// largeMessage returns a response of n bytes, and its newline.
func largeMessage(n int) []byte {
	const start, end = `{"jsonrpc":"2.0","id":1,"result":{"text":"`, `"}}` + "\n"
	in := make([]byte, 0, n+1)
	in = append(in, start...)
	in = append(in, bytes.Repeat([]byte("x"), n+1-len(start)-len(end))...)
	return append(in, end...)
}

// heapInUse returns the bytes of the objects that are still reachable.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what the first has found dead in a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// bufferedAfter returns what Buffered says when in was fed.
func bufferedAfter(in string) int {
	var r framing.LineReader
	r.Feed([]byte(in))
	return r.Buffered()
}

func TestFeed_NilWithoutMessages(t *testing.T) {
	for _, chunk := range []string{"", "\n", " \r\n\n\t\n", "{"} {
		var r framing.LineReader
		if ms := r.Feed([]byte(chunk)); ms != nil {
			t.Errorf("Feed(%q) = %v, want nil", chunk, ms)
		}
	}
}
