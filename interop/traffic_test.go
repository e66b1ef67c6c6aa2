package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/mcp/framing"
)

// A recording is one direction of a session: what was read, and in which pieces.
type recording struct {
	name   string
	bytes  []byte
	chunks []int // sizes of the reads
}

// corpus returns the recordings in the folder that FRAMING_CORPUS names, by default ../shared/corpus beside the repository:
// NAME.ndjson files, and NAME.chunks.json for NAME.in.ndjson and NAME.out.ndjson.
func corpus(t *testing.T) []recording {
	t.Helper()
	dir := os.Getenv("FRAMING_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Logf("no recorded traffic in %s (set FRAMING_CORPUS to look elsewhere): generated traffic only", dir)
	}
	var recordings []recording
	for _, file := range files {
		r := recording{name: strings.TrimSuffix(filepath.Base(file), ".ndjson")}
		if r.bytes, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		name, direction, _ := strings.Cut(r.name, ".")
		if raw, err := os.ReadFile(filepath.Join(dir, name+".chunks.json")); err == nil {
			var sizes map[string]json.RawMessage
			if err := json.Unmarshal(raw, &sizes); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(sizes[direction], &r.chunks); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
		recordings = append(recordings, r)
	}
	return recordings
}

// generated returns traffic of the shapes seen in recordings: ids first and last, short and long lines, several scripts, escapes,
// separators raw and escaped, logs between the messages; cut at random, also within characters.
func generated() recording {
	random := rand.New(rand.NewPCG(2, 25))
	words := []string{"plain", " ", `\n`, `\"`, `\\`, "日本", "🙂", `\ud83d`, `\u0000`, "\u2028", `\u2029`, "\u0085", "<&>", "\ufeff", `\/`}
	var b bytes.Buffer
	for i := range 3000 {
		var text strings.Builder
		for range 1 << random.IntN(10) {
			text.WriteString(words[random.IntN(len(words))])
		}
		switch random.IntN(6) {
		case 0:
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"text":"%s"}}`, i, &text)
		case 1:
			fmt.Fprintf(&b, `{"result":{"content":[{"type":"text","text":"%s"}],"n":[1.50,-0,1e3]},"jsonrpc":"2.0","id":%d}`, &text, i)
		case 2:
			fmt.Fprintf(&b, `{"method":"notifications/progress","params":{"t":"%s"},"jsonrpc":"2.0"}`, &text)
		case 3:
			fmt.Fprintf(&b, ` { "jsonrpc" : "2.0" , "id" : "%d" , "error" : { "code" : -32000 , "message" : "%s" } } `, i, &text)
		case 4:
			fmt.Fprintf(&b, "[info] %s", &text)
		case 5:
			b.WriteString(" \t\r")
		}
		b.WriteString([]string{"\n", "\r\n"}[random.IntN(2)])
	}
	r := recording{name: "generated", bytes: b.Bytes()}
	for n := b.Len(); n > 0; {
		size := min(n, 1+random.IntN(1<<random.IntN(17)))
		r.chunks = append(r.chunks, size)
		n -= size
	}
	return r
}

// read returns the messages of r as they come out of a LineReader that gets it in its pieces.
func (r recording) read(t *testing.T) []framing.Message {
	t.Helper()
	var lines framing.LineReader
	var messages []framing.Message
	rest := r.bytes
	chunks := r.chunks
	if chunks == nil {
		chunks = []int{len(rest)}
	}
	for _, size := range chunks {
		chunk := bytes.Clone(rest[:size])
		rest = rest[size:]
		messages = append(messages, lines.Feed(chunk)...)
		clear(chunk) // it is ours again
	}
	if len(rest) > 0 {
		t.Fatalf("the recorded sizes leave %d bytes", len(rest))
	}
	if m, ok := lines.Flush(); ok {
		messages = append(messages, m)
	}
	return messages
}

// lines returns the lines of r that are not blank, by the plainest means.
func (r recording) lines() (lines [][]byte) {
	for line := range bytes.SplitSeq(r.bytes, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.Trim(line, " \t\r")) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTraffic(t *testing.T) {
	for _, r := range append(corpus(t), generated()) {
		t.Run(r.name, func(t *testing.T) {
			messages, lines := r.read(t), r.lines()
			if len(messages) != len(lines) {
				t.Fatalf("%d messages, want one for each of %d lines", len(messages), len(lines))
			}
			var kinds [framing.Batch + 1]int
			for i, m := range messages {
				kinds[m.Kind]++
				if !bytes.Equal(m.Line, lines[i]) {
					t.Fatalf("line %d = %.200q, want %.200q", i+1, m.Line, lines[i])
				}
				if good := utf8.Valid(m.Line) && json.Valid(m.Line); good != (m.Kind != framing.Malformed) {
					t.Errorf("line %d is %v, but encoding/json finds it good: %v: %.200q", i+1, m.Kind, good, m.Line)
				}
				if m.Kind != framing.Malformed {
					roundTrip(t, m)
				}
			}
			t.Logf("%d bytes in %d reads: %d malformed, %d invalid, %d requests, %d notifications, %d responses, %d batches",
				len(r.bytes), len(r.chunks), kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], kinds[5])
			if kinds[framing.Invalid] > 0 {
				t.Errorf("%d invalid messages: real peers send none", kinds[framing.Invalid])
			}
		})
	}
}

// roundTrip encodes m, as a line and as a value, and reads it again.
func roundTrip(t *testing.T, m framing.Message) {
	t.Helper()
	want := new(bytes.Buffer)
	if err := json.Compact(want, m.Line); err != nil {
		t.Fatal(err)
	}
	value := m.Value()
	for what, v := range map[string]any{"line": m, "value": value} {
		frame, err := framing.Encode(v)
		if err != nil {
			t.Fatalf("Encode of the %s: %v", what, err)
		}
		if what == "line" {
			if got := escapeSeparators(want.Bytes()); !bytes.Equal(frame, append(got, '\n')) {
				t.Errorf("Encode = %.200q, want %.200q", frame, got)
			}
		}
		var lines framing.LineReader
		again := lines.Feed(frame)
		if len(again) != 1 || again[0].Kind != m.Kind || string(again[0].ID) != string(m.ID) || again[0].Method != m.Method {
			t.Errorf("read again = %.200q, want the same message as %.200q", again, m.Line)
		} else if !reflect.DeepEqual(again[0].Value(), value) {
			t.Errorf("value of the %s read again = %.200q, want that of %.200q", what, again[0].Line, m.Line)
		}
	}
}

// escapeSeparators does to compact JSON what Encode does besides: separators that some peers take for line ends are escaped.
func escapeSeparators(b []byte) []byte {
	r := strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`, "\u0085", `\u0085`)
	return []byte(r.Replace(string(b)))
}
