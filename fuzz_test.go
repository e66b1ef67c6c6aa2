package framing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/mcp/framing"
	"example.com/mcp/framing/internal/strictjson"
)

// FuzzChunks: how a stream is cut changes nothing (rule 8), and what was delivered stays as it was (rule 10).
func FuzzChunks(f *testing.F) {
	for i, s := range seedStreams(f) {
		if len(s.in) > 4096 {
			continue // TestCases cuts these, and a seed runs each time
		}
		f.Add([]byte(s.in), []byte{byte(i), 1, byte(i / 3)}, uint16(max(s.maxLine, 0)))
		f.Add([]byte(s.in), []byte{3, 0, 2}, uint16(20))
	}
	f.Fuzz(func(t *testing.T, in, cuts []byte, maxLine uint16) {
		s := stream{in: string(in), maxLine: int(maxLine)}
		want := readLines(t, &framing.LineReader{MaxLine: s.maxLine}, s, []int{max(len(in), 1)})
		sizes := make([]int, 0, len(cuts)+1)
		for _, c := range cuts {
			sizes = append(sizes, int(c))
		}
		sizes = append(sizes, 1) // so that it ends
		for _, sizes := range [][]int{sizes, {1}} {
			if got := readLines(t, &framing.LineReader{MaxLine: s.maxLine}, s, sizes); !slices.Equal(got, want) {
				t.Fatalf("%q in pieces of %v\n got %s\nwant %s", in, sizes, list(got), list(want))
			}
		}
		src := &scribbler{r: &flaky{r: strings.NewReader(s.in), n: 1 + len(cuts)}}
		if got := readMessages(t, s, src); !slices.Equal(got, want) {
			t.Fatalf("%q through Reader\n got %s\nwant %s", in, list(got), list(want))
		}
	})
}

// FuzzOracle: the entries are those of a slow reader that leaves the grammar to encoding/json and, where it exists, to jsontext.
func FuzzOracle(f *testing.F) {
	for _, s := range seedStreams(f) {
		f.Add([]byte(s.in), uint16(max(s.maxLine, 0)), s.open)
	}
	f.Fuzz(func(t *testing.T, in []byte, maxLine uint16, open bool) {
		s := stream{in: string(in), maxLine: int(maxLine), open: open}
		got := readLines(t, &framing.LineReader{MaxLine: s.maxLine}, s, []int{max(len(in), 1)})
		if diff := compareWithOracle(s, got); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range got {
			if good := e.Kind != framing.Malformed; strictjson.Known && e.Class != framing.ErrTooLong && good != strictjson.Valid([]byte(e.Line)) {
				t.Fatalf("%q is %v, jsontext says %v", e.Line, e.Kind, !good)
			}
		}
	})
}

// FuzzRoundTrip: what Encode writes of any members or any line, Feed reads back.
func FuzzRoundTrip(f *testing.F) {
	f.Add("tools/call", `"a"`, `{"x":[1,2]}`, uint8(0))
	f.Add("", `-0`, `{"a":"\u2028"}`, uint8(1))
	f.Add("", `9007199254740993`, `{"code":1,"message":"x"}`, uint8(2))
	f.Add("notifications/\u2028\x00", ``, ``, uint8(0))
	for _, tt := range envelopes {
		f.Add("m", "1", tt.line, uint8(1))
	}
	f.Fuzz(func(t *testing.T, method, id, raw string, shape uint8) {
		m := framing.Message{Method: method, ID: rawMessage(id)}
		switch shape % 3 {
		case 0:
			m.Params = rawMessage(raw)
		case 1:
			m.Result = rawMessage(raw)
		case 2:
			m.ErrorObject = rawMessage(raw)
		}
		frame, err := framing.Encode(m)
		if err != nil {
			return // what is legal and what is not has a table
		}
		checkFrame(t, frame)
		got := readOne(t, frame)
		if got.Err != nil {
			t.Fatalf("Encode(%+v) = %q, which reads as %v: %v", snapshot(m), frame, got.Kind, got.Err)
		}
		if !utf8.ValidString(method) {
			method = got.Method // nothing to be compared: it has come back mended
		}
		if got.Method != method || !sameJSON(got.ID, m.ID) || !sameJSON(got.Params, m.Params) || !sameJSON(got.Result, m.Result) || !sameJSON(got.ErrorObject, m.ErrorObject) {
			t.Fatalf("Encode(%+v) reads back as %+v", snapshot(m), snapshot(got))
		}
		again, err := framing.Encode(got)
		if err != nil || !bytes.Equal(again, frame) {
			t.Fatalf("Encode of the received %q = %q, %v", frame, again, err)
		}
	})
}

// FuzzEncode: whatever is given, a frame is one valid line, or there is an error and dst is as it was.
func FuzzEncode(f *testing.F) {
	for _, tt := range encodeFrames {
		if raw, ok := tt.v.(json.RawMessage); ok {
			f.Add([]byte(raw), 1.5)
		}
	}
	for _, tt := range badTexts {
		f.Add([]byte(tt.line), math.Inf(1))
	}
	for _, text := range goodTexts {
		f.Add([]byte(text), -0.0)
	}
	f.Fuzz(func(t *testing.T, b []byte, number float64) {
		for _, v := range []any{
			json.RawMessage(b),
			string(b),
			b,
			map[string]any{string(b): number, "raw": json.RawMessage(b)},
			[]any{string(b), marshaler(b), &number},
			framing.Message{Method: string(b), Params: b},
			framing.Message{ID: b, Result: b},
			&framing.Message{ID: json.RawMessage(`1`), ErrorObject: b},
			framing.Message{Line: b},
			framing.Message{Kind: framing.Invalid, Line: b},
			struct {
				Text string
				Raw  json.RawMessage `json:",omitempty"`
			}{string(b), b},
		} {
			dst := []byte("dst")
			frame, err := framing.AppendEncode(dst, v)
			if !bytes.HasPrefix(frame, []byte("dst")) || err != nil && len(frame) != len("dst") {
				t.Fatalf("AppendEncode(dst, %#v) = %q, %v", v, frame, err)
			}
			if err == nil {
				checkFrame(t, frame[len("dst"):])
			}
			if raw, ok := v.(json.RawMessage); ok && b != nil {
				checkRaw(t, raw, frame[len("dst"):], err)
			}
		}
	})
}

// checkRaw checks that raw JSON was taken exactly when encoding/json takes it, and is still the same value.
func checkRaw(t *testing.T, raw json.RawMessage, frame []byte, err error) {
	t.Helper()
	if err == nil != json.Valid(raw) {
		t.Fatalf("Encode(json.RawMessage(%q)) = %q, %v; json.Valid says %v", raw, frame, err, json.Valid(raw))
	}
	if err == nil && utf8.Valid(raw) && !sameJSON(frame, raw) {
		t.Fatalf("Encode(json.RawMessage(%q)) = %q, another value", raw, frame)
	}
}

// FuzzMemory: whatever comes, a reader holds no more than its limit allows.
func FuzzMemory(f *testing.F) {
	for _, s := range seedStreams(f) {
		if len(s.in) < 100 {
			f.Add([]byte(s.in), uint16(64), uint16(1000))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, maxLine, size uint16) {
		const total = 1 << 17
		if len(in) == 0 {
			return
		}
		limit := max(int(maxLine), 1)
		in = bytes.Repeat(in, total/len(in)+1)
		before := heapInUse()
		r := framing.LineReader{MaxLine: limit}
		for chunk := range slices.Chunk(in, max(int(size), 16)) {
			r.Feed(chunk)
			if n := r.Buffered(); n > limit+8<<10 {
				t.Fatalf("Buffered() = %d with a limit of %d", n, limit)
			}
		}
		if held := heapInUse() - before; held > 2*limit+slack {
			t.Fatalf("held %d bytes with a limit of %d", held, limit)
		}
		r.Flush()
	})
}

// checkFrame checks all that section 5 of the rules says of a frame.
func checkFrame(t testing.TB, frame []byte) {
	t.Helper()
	line, ended := bytes.CutSuffix(frame, []byte("\n"))
	var compact bytes.Buffer
	switch {
	case !ended:
		t.Fatalf("frame %q does not end in a newline", frame)
	case bytes.ContainsFunc(line, func(r rune) bool { return r < 0x20 || r == '\u2028' || r == '\u2029' || r == '\u0085' }):
		t.Fatalf("frame %q holds a control character or a line separator", frame)
	case !utf8.Valid(line):
		t.Fatalf("frame %q is not UTF-8", frame)
	case bytes.HasPrefix(line, []byte(bom)):
		t.Fatalf("frame %q begins with a BOM", frame)
	case json.Compact(&compact, line) != nil:
		t.Fatalf("frame %q is not JSON", frame)
	case compact.Len() != len(line):
		t.Fatalf("frame %q is not compact", frame)
	case strictjson.Known && !strictjson.Valid(line):
		t.Fatalf("frame %q is not JSON, says jsontext", frame)
	}
	var r framing.LineReader
	if ms := r.Feed(frame); len(ms) != 1 || ms[0].Kind == framing.Malformed || !bytes.Equal(ms[0].Line, line) {
		t.Fatalf("frame %q reads as %+v", frame, snapshotAll(ms))
	}
}

func readOne(t testing.TB, frame []byte) framing.Message {
	t.Helper()
	var r framing.LineReader
	ms := r.Feed(frame)
	if len(ms) != 1 {
		t.Fatalf("frame %q reads as %d messages", frame, len(ms))
	}
	return ms[0]
}

type marshaler []byte

func (m marshaler) MarshalJSON() ([]byte, error) { return m, nil }

// rawMessage returns nil for "".
func rawMessage(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// sameJSON reports whether a and b hold the same value, absent and null being the same; numbers are compared as text.
func sameJSON(a, b []byte) bool { return reflect.DeepEqual(decode(a), decode(b)) }

func decode(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// ---- The oracle: a slow reader on encoding/json ----

// verdict is an entry, and what of it the rules leave open.
type verdict struct {
	entry
	classes []error // allowed
	offsets []int   // allowed; nil: any
	loose   bool    // ID, Method and the rest are not compared
}

// compareWithOracle returns what differs between the entries got from s and the verdicts of the oracle, "" for nothing.
func compareWithOracle(s stream, got []entry) string {
	want := oracle(s)
	if len(got) != len(want) {
		return fmt.Sprintf("read %.300q\n got %d entries:%.2000s\nwant %d by the oracle", s.in, len(got), list(got), len(want))
	}
	for i := range want {
		if diff := want[i].compare(got[i]); diff != "" {
			return fmt.Sprintf("read %.300q, entry %d: %s\n got %.2000s\nby the oracle%.2000s", s.in, i, diff, list(got[i:i+1]), list([]entry{want[i].entry}))
		}
	}
	return ""
}

func (v verdict) compare(got entry) string {
	switch {
	case got.Kind != v.Kind:
		return "kind"
	case got.Line != v.Line:
		return "line"
	case !slices.Contains(v.classes, got.Class):
		return fmt.Sprintf("class, want one of %v", v.classes)
	case v.offsets != nil && !slices.Contains(v.offsets, got.Offset):
		return fmt.Sprintf("offset, want one of %v", v.offsets)
	case !v.loose && (got.ID != v.ID || got.Method != v.Method || got.Params != v.Params || got.Result != v.Result || got.Error != v.Error):
		return "members"
	}
	return ""
}

// oracle reads a whole stream, line by line.
func oracle(s stream) []verdict {
	limit := s.maxLine
	if limit == 0 {
		limit = framing.DefaultMaxLine
	} else if limit < 0 {
		limit = math.MaxInt
	}
	lines := strings.SplitAfter(strings.TrimPrefix(s.in, bom), "\n")
	var verdicts []verdict
	for _, line := range lines {
		line, ended := strings.CutSuffix(line, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		switch {
		case strings.Trim(line, " \t\r") == "" || !ended && s.open:
		case len(line) > limit:
			verdicts = append(verdicts, judgeLong(line, ended))
		default:
			verdicts = append(verdicts, judge(line, ended))
		}
	}
	return verdicts
}

// judge decides what line is.
func judge(line string, ended bool) verdict {
	v := verdict{entry: entry{Kind: framing.Malformed, Line: line}}
	syntax := syntaxFault([]byte(line))
	utf8At, cut := utf8Fault(line)
	cut = cut && !ended // the rest of the sequence might have come
	switch {
	case syntax < 0 && utf8At < 0:
		v.entry = envelope(line)
		v.classes = []error{v.Class}
	case utf8At >= 0 && (syntax < 0 || utf8At < syntax) && cut:
		v.classes, v.offsets = []error{io.ErrUnexpectedEOF}, []int{utf8At, len(line)}
	case utf8At >= 0 && (syntax < 0 || utf8At < syntax):
		v.classes, v.offsets = []error{framing.ErrInvalidUTF8}, []int{utf8At}
	case utf8At == syntax && cut: // a byte that neither UTF-8 nor JSON can begin with, or might, had it gone on
		v.classes, v.offsets = []error{framing.ErrInvalidUTF8, framing.ErrSyntax, io.ErrUnexpectedEOF}, []int{utf8At, len(line)}
	case utf8At == syntax:
		v.classes, v.offsets = []error{framing.ErrInvalidUTF8, framing.ErrSyntax}, []int{utf8At}
	case syntax == len(line) && !ended:
		v.classes, v.offsets = []error{io.ErrUnexpectedEOF}, []int{syntax}
	default:
		v.classes, v.offsets = []error{framing.ErrSyntax}, []int{syntax}
	}
	return v
}

// judgeLong decides what is told of a line over the limit. Of one that is not JSON it is open what can still be told.
func judgeLong(line string, ended bool) verdict {
	e := judge(line, ended).entry
	v := verdict{classes: []error{framing.ErrTooLong}, loose: e.Kind == framing.Malformed}
	v.entry = entry{Kind: framing.Malformed, Line: line[:min(len(line), 1024)], Params: empty(e.Params), Result: empty(e.Result), Error: empty(e.Error)}
	if e.ID != "null" && len(e.ID) <= 1024 {
		v.ID = e.ID
	}
	if len(e.Method) <= 1024 {
		v.Method = e.Method
	}
	// A member of a wrong type counts as one that stood there, or not.
	if e.Kind == framing.Invalid {
		v.loose = v.loose || slices.ContainsFunc(members(line), func(m member) bool {
			return m.name == "params" && !isOneOf(m.raw, "[{") || m.name == "error" && !isOneOf(m.raw, "{")
		})
	}
	return v
}

func empty(raw string) string {
	if raw == "" {
		return ""
	}
	return "(empty)"
}

// syntaxFault returns the offset of the first byte with which no JSON text can go on, or of the literal or the escape that it spoils;
// len(line) if line merely breaks off, and -1 if it is one JSON text.
func syntaxFault(line []byte) int {
	if json.Valid(line) {
		return -1
	}
	i := sort.Search(len(line), func(i int) bool { return !begins(line[:i+1]) })
	if i == len(line) {
		return i
	}
	if m := brokenEscape.FindSubmatch(line[:i]); m != nil && len(m[1])%2 == 0 {
		return i - len(m[2])
	}
	inString := begins(append(bytes.Clone(line[:i]), '~')) // which can stand nowhere else
	if m := brokenLiteral.Find(line[:i]); m != nil && !inString {
		return i - len(m)
	}
	return i
}

// What stands before the fault in an escape or in a literal. Pairs of backslashes are no escape's beginning.
var (
	brokenEscape  = regexp.MustCompile(`(\\*)(\\(?:u[0-9a-fA-F]{0,3})?)$`)
	brokenLiteral = regexp.MustCompile(`(?:\bt|\btr|\btru|\bf|\bfa|\bfal|\bfals|\bn|\bnu|\bnul)$`)
)

// begins reports whether a JSON text may begin with p.
func begins(p []byte) bool {
	d := json.NewDecoder(bytes.NewReader(p))
	var v json.RawMessage
	switch err := d.Decode(&v); err {
	case nil:
		return len(bytes.Trim(p[d.InputOffset():], " \t\r\n")) == 0
	case io.EOF, io.ErrUnexpectedEOF:
		return true
	}
	return false
}

// utf8Fault returns the offset of the first byte that is not UTF-8, or -1, and whether only the end is missing there.
func utf8Fault(line string) (at int, cut bool) {
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		if r == utf8.RuneError && n == 1 {
			return i, !utf8.FullRuneInString(line[i:])
		}
		i += n
	}
	return -1, false
}

type member struct{ name, raw string }

// members returns the members of the object line, in order, those that are repeated too; of anything else nil.
func members(line string) []member {
	d := json.NewDecoder(strings.NewReader(line))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var ms []member
	for d.More() {
		name, err := d.Token()
		var raw json.RawMessage
		if err != nil || d.Decode(&raw) != nil {
			panic("a valid object that does not decode: " + line)
		}
		ms = append(ms, member{name.(string), string(raw)})
	}
	return ms
}

// envelope decides what the JSON text line is to JSON-RPC.
func envelope(line string) entry {
	e := entry{Kind: framing.Invalid, Line: line, Class: framing.ErrInvalidMessage}
	text := strings.Trim(line, " \t\r\n")
	if text[0] == '[' && strings.Trim(text[1:len(text)-1], " \t\r\n") != "" {
		return entry{Kind: framing.Batch, Line: line}
	}
	first, repeated := map[string]string{}, false
	for _, m := range members(line) {
		if slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, m.name) {
			_, again := first[m.name]
			repeated = repeated || again
			if !again {
				first[m.name] = m.raw
			}
		}
	}
	e.take(first)
	if kind := kindOf(first); kind != framing.Invalid && !repeated {
		e.Kind, e.Class = kind, nil
		if kind == framing.Response && first["id"] == "null" {
			e.ID = "null"
		}
	}
	return e
}

// take sets the members of e that have the right type.
func (e *entry) take(first map[string]string) {
	if isOneOf(first["id"], `"-0123456789`) {
		e.ID = first["id"]
	}
	e.Method, _ = decode([]byte(first["method"])).(string)
	if isOneOf(first["params"], "[{") {
		e.Params = first["params"]
	}
	e.Result = first["result"]
	if isOneOf(first["error"], "{") {
		e.Error = first["error"]
	}
}

func isOneOf(raw, firstBytes string) bool { return raw != "" && strings.Contains(firstBytes, raw[:1]) }

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// kindOf is the table of the envelope's rules.
func kindOf(first map[string]string) framing.Kind {
	version := decode([]byte(first["jsonrpc"]))
	id, hasID := first["id"]
	idIsGood := isOneOf(id, `"`) || integer.MatchString(id)
	params, hasParams := first["params"]
	_, hasMethod := first["method"]
	_, methodIsString := decode([]byte(first["method"])).(string)
	_, hasResult := first["result"]
	errorObject, hasError := first["error"]
	switch {
	case version != "2.0":
		return framing.Invalid
	case hasMethod && (!methodIsString || hasResult || hasError || hasParams && params != "null" && !isOneOf(params, "[{")):
		return framing.Invalid
	case hasMethod && idIsGood:
		return framing.Request
	case hasMethod && !hasID:
		return framing.Notification
	case hasMethod || hasResult == hasError:
		return framing.Invalid
	case hasResult && idIsGood, hasError && (idIsGood || !hasID || id == "null") && isErrorObject(errorObject):
		return framing.Response
	}
	return framing.Invalid
}

// isErrorObject asks for an integer code and a string message. Of repeated ones the first counts.
func isErrorObject(raw string) bool {
	first := map[string]string{}
	for _, m := range members(raw) {
		if _, again := first[m.name]; !again {
			first[m.name] = m.raw
		}
	}
	return integer.MatchString(first["code"]) && isOneOf(first["message"], `"`)
}

// ---- Seeds, and the cases of testdata ----

// seedStreams returns the streams of all the tables and cases.
func seedStreams(t testing.TB) []stream {
	var seeds []stream
	for _, tt := range wireRules {
		seeds = append(seeds, stream{in: tt.in, open: tt.open})
	}
	for _, tt := range badTexts {
		seeds = append(seeds, stream{in: tt.line + "\n" + ping}, stream{in: tt.line})
	}
	for _, text := range goodTexts {
		seeds = append(seeds, stream{in: text})
	}
	for _, tt := range limitRows {
		seeds = append(seeds, stream{in: tt.in, maxLine: len(ping)})
	}
	for _, tt := range reasons {
		seeds = append(seeds, stream{in: tt.in})
	}
	for _, tt := range envelopes {
		seeds = append(seeds, stream{in: tt.line})
	}
	for _, tt := range salvages {
		seeds = append(seeds, stream{in: tt.line + "\n", maxLine: 64})
	}
	for _, c := range loadCases(t) {
		if len(c.in()) < 1<<16 {
			seeds = append(seeds, c.stream())
		}
	}
	return seeds
}

// testCase is a line of testdata/cases.jsonl.
type testCase struct {
	Name    string
	Chunks  []caseChunk
	EOF     bool
	MaxLine int `json:"max_line"`
	Want    []struct {
		Message       json.RawMessage
		ParseError    *string `json:"parse_error"`
		ParseErrorB64 []byte  `json:"parse_error_b64"`
		TooLong       bool    `json:"too_long"`
	}
	Kinds []string
}

type caseChunk struct {
	Text   string
	B64    string
	Repeat struct {
		Text  string
		Times int
	}
}

func loadCases(t testing.TB) []testCase {
	t.Helper()
	file, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []testCase
	for d := json.NewDecoder(file); ; {
		var c testCase
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			return cases
		} else if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
}

func (c caseChunk) bytes() string {
	raw, err := base64.StdEncoding.DecodeString(c.B64)
	if err != nil {
		panic(err)
	}
	return c.Text + string(raw) + strings.Repeat(c.Repeat.Text, c.Repeat.Times)
}

func (c testCase) in() string {
	var b strings.Builder
	for _, chunk := range c.Chunks {
		b.WriteString(chunk.bytes())
	}
	return b.String()
}

func (c testCase) stream() stream {
	s := stream{in: c.in(), open: !c.EOF, maxLine: c.MaxLine}
	if s.maxLine == 0 {
		s.maxLine = -1
	}
	for _, chunk := range c.Chunks {
		s.sizes = append(s.sizes, len(chunk.bytes()))
	}
	return s
}
