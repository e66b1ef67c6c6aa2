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
