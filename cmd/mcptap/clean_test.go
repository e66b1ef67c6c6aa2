package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

func TestCleaner(t *testing.T) {
	good, reply, bad := note("a"), answer("7"), `{"jsonrpc":"2.0","id":7,"x":"`
	long := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 200) + `"}` + "\n"
	exact := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 100-29) + `"}`
	tests := []struct {
		name, in, want string
		junk           []string
	}{
		{"messages", good + reply, good + reply, nil},
		{"text", "hello\n" + good + "bye\r\n", good, []string{"1 hello", "3 bye"}},
		{"blank lines", "\n \r\n" + good, good, nil},
		{"CRLF stays", "x\n" + strings.TrimSuffix(good, "\n") + "\r\n", strings.TrimSuffix(good, "\n") + "\r\n", []string{"1 x"}},
		{"no newline at the end", "x\n" + strings.TrimSuffix(good, "\n"), strings.TrimSuffix(good, "\n"), []string{"1 x"}},
		{"text at the end", good + "bye", good, []string{"2 bye"}},
		{"half a message at the end", good + `{"jsonrpc`, good, []string{`2 {"jsonrpc`}},
		{"structured log", `{"level":"info","method":"GET","id":5}` + "\n" + good, good, []string{`1 {"level":"info","method":"GET","id":5}`}},
		{"broken answer", `{"id":7,"result":1}` + "\n", `{"id":7,"result":1}` + "\n", nil},
		{"broken message", `{"jsonrpc":"2.0"}` + "\n", `{"jsonrpc":"2.0"}` + "\n", nil},
		{"a result without id", `{"result":1}` + "\n", "", []string{`1 {"result":1}`}},
		{"not UTF-8", bad + "\xE9\"}\n", bad + "\xE9\"}\n", nil},
		{"NaN", bad + "\",\"result\":NaN}\n", bad + "\",\"result\":NaN}\n", nil},
		{"broken over two lines", bad + "\",\n\"result\":{}}\n" + good, good, []string{"1 " + bad + `",`, `2 "result":{}}`}},
		{"two on a line", strings.TrimSuffix(reply, "\n") + reply, strings.TrimSuffix(reply, "\n") + reply, nil},
		{"text about JSON-RPC", `[INFO] "jsonrpc"` + "\n" + good, good, []string{`1 [INFO] "jsonrpc"`}},
		{"over-long blank", strings.Repeat(" ", 300) + "\n" + good, good, nil},
		{"over-long, far from the start", strings.Repeat(" ", 300) + good + good, good, nil},
		{"BOM", "\xEF\xBB\xBF" + good, good, []string{"1 (a byte order mark)"}},
		{"BOM later", good + "\xEF\xBB\xBF" + good, good, []string{"2 \xEF\xBB\xBF" + strings.TrimSuffix(good, "\n")}},
		{"batch", "[" + strings.TrimSuffix(good, "\n") + "]\n", "[" + strings.TrimSuffix(good, "\n") + "]\n", nil},
		{"at the limit", exact + "\r\n" + good, exact + "\r\n" + good, nil},
		{"over-long message", long + "x\n" + good, long + good, []string{"2 x"}},
		{"over-long text", strings.Repeat("y", 300) + "\n" + good, good, []string{"1 " + strings.Repeat("y", 100) + "..."}},
	}
	for _, test := range tests {
		for _, n := range []int{1, 2, 7, 103, 1000} {
			var out bytes.Buffer
			var junk []string
			c := &cleaner{w: &out, maxLine: 100, junk: func(line int, text []byte) { junk = append(junk, fmt.Sprintf("%d %s", line, text)) }}
			for rest := []byte(test.in); len(rest) > 0; {
				part := rest[:min(n, len(rest))]
				if m, err := c.Write(part); m != len(part) || err != nil {
					t.Fatalf("%s: Write = %d, %v", test.name, m, err)
				}
				rest = rest[len(part):]
			}
			c.Close()
			if out.String() != test.want || !reflect.DeepEqual(junk, test.junk) {
				t.Errorf("%s, chunks of %d: %q and junk %q, want %q and %q", test.name, n, out.String(), junk, test.want, test.junk)
			}
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestCleanerPassesErrorsOn(t *testing.T) {
	c := &cleaner{w: failingWriter{}, maxLine: 100}
	if _, err := c.Write([]byte(note("a"))); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write = %v, want %v", err, os.ErrClosed)
	}
}

// strictClient is one that dies of the first line that is no message.
func strictClient(w io.Writer, r io.Reader) error {
	lines := bufio.NewScanner(r)
	for id := range 3 {
		io.WriteString(w, request(fmt.Sprint(id), "ping"))
		if !lines.Scan() {
			return io.ErrUnexpectedEOF
		}
		var m struct {
			JSONRPC string
			ID      int
			Result  *struct{}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.JSONRPC != "2.0" || m.ID != id || m.Result == nil {
			return fmt.Errorf("no answer to %d: %q", id, lines.Text())
		}
	}
	return nil
}

// TestClean runs a strict client against a server that prints on stdout: by
// itself it dies, with -clean it works.
func TestClean(t *testing.T) {
	t.Setenv(envScript, encodeScript([]step{write("starting\n\n"), echo("got one, \x1b[31mid %s\n" + pong)}))
	for _, clean := range []bool{false, true} {
		in, host := io.Pipe()
		client, out := io.Pipe()
		var errs bytes.Buffer
		c := config{clean: clean, grace: 5 * time.Second, command: []string{os.Args[0]}}
		done := make(chan struct{})
		go func() { defer close(done); live(c, streams{in, out, &errs}) }()
		err := strictClient(host, client)
		host.Close()
		io.Copy(io.Discard, client)
		<-done
		if clean != (err == nil) {
			t.Errorf("clean %t: the client says %v", clean, err)
		}
		if marked := strings.Contains(errs.String(), "mcptap: not a message, stdout line 1: starting\n"); marked != clean {
			t.Errorf("clean %t: marked on stderr: %t; stderr:\n%s", clean, marked, errs.String())
		}
	}
}

// TestJunkNeverWaits: with a stderr that takes nothing, junk is counted, and
// what there was room for is printed in order once it takes it.
func TestJunkNeverWaits(t *testing.T) {
	r, w := io.Pipe()
	j := newJunkPrinter(w)
	for i := range junkLines + 10 { // one is in the printer's hand, or will be
		j.print(i, []byte("x"))
	}
	j.close()
	lost := 0
	n := 0
	for lines := bufio.NewScanner(r); lost == 0 && lines.Scan(); n++ {
		if fmt.Sscanf(lines.Text(), "mcptap: and %d more lines", &lost); lost == 0 && !strings.HasPrefix(lines.Text(), fmt.Sprintf("mcptap: not a message, stdout line %d: x", n)) {
			t.Fatalf("line %d is %q", n, lines.Text())
		}
	}
	if n--; n+lost != junkLines+10 || lost < 9 {
		t.Errorf("%d lines printed and %d lost, want %d in all", n, lost, junkLines+10)
	}
}

// TestJunkIsPrinted: all of it, also what came right before the end.
func TestJunkIsPrinted(t *testing.T) {
	var junk strings.Builder
	for i := range junkLines {
		fmt.Fprintln(&junk, "line", i)
	}
	o := runSession(t, []step{write(junk.String())}, strings.NewReader(""), func(c *config) { c.clean = true })
	if n := strings.Count(o.stderr, "mcptap: not a message, stdout line "); n != junkLines || o.stdout != "" {
		t.Errorf("%d lines marked and %q on stdout, want %d and nothing", n, o.stdout, junkLines)
	}
}

// TestNoLimitOfItsOwn: the default holds for -max-line 0, as everywhere.
func TestNoLimitOfItsOwn(t *testing.T) {
	for n, want := range map[int]int{0: framing.DefaultMaxLine, 5: 5, -1: -1} {
		if got := limit(n); got != want {
			t.Errorf("limit(%d) = %d, want %d", n, got, want)
		}
	}
}

// FuzzCleaner: however the stream is cut, the same comes out; every line that
// is a message does, unchanged and in order, and nothing that was not in.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBFx\n"+note("a")+"\r\n"+answer("7")), uint8(3))
	f.Add([]byte(strings.Repeat(" ", 120)+note("a")+strings.Repeat("{", 120)+"\n[1]"), uint8(110))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		const limit = 100
		clean := func(n int) (out, junk string) {
			var b, j strings.Builder
			c := &cleaner{w: &b, maxLine: limit, junk: func(line int, text []byte) { fmt.Fprintf(&j, "%d %q\n", line, text) }}
			for rest := in; len(rest) > 0; rest = rest[min(n, len(rest)):] {
				c.Write(rest[:min(n, len(rest))])
			}
			c.Close()
			return b.String(), j.String()
		}
		out, junk := clean(len(in) + 1)
		if out2, junk2 := clean(int(size) + 1); out2 != out || junk2 != junk {
			t.Fatalf("%q in pieces of %d: %q and junk %q, in one piece %q and %q", in, size+1, out2, junk2, out, junk)
		}
		left := bytes.TrimPrefix(in, []byte("\xEF\xBB\xBF"))
		var good []string
		for line := range bytes.Lines(left) {
			if m, ok := observe.Parse(bytes.TrimRight(line, "\r\n")); ok && m.Err == nil && len(line) <= limit {
				good = append(good, string(line))
			}
		}
		for line := range strings.Lines(out) {
			if len(good) > 0 && line == good[0] {
				good = good[1:]
			}
			i := bytes.Index(left, []byte(line))
			if i < 0 {
				t.Fatalf("%q: %q came out, which is not in it", in, line)
			}
			left = left[i+len(line):]
		}
		if len(good) > 0 {
			t.Fatalf("%q: the message %q did not come out", in, good[0])
		}
	})
}
