package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp/framing"
)

func TestAnswers(t *testing.T) {
	const over = 200
	long := strings.Repeat("x", over)
	tests := []struct{ name, line, want string }{
		{"not JSON", "log", "-32700 null"},
		{"not UTF-8", `"` + "\xff" + `"`, "-32700 null"},
		{"broken off at the end", `{"jsonrpc"`, "-32700 null"},
		{"no message", `{"id":"a"}`, `-32600 "a"`},
		{"no message, no id", "{}", "-32600 null"},
		{"id that is no id", `{"jsonrpc":"2.0","id":[7],"method":"m"}`, "-32600 null"},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e400,"method":"m"}`, "-32600 1e400"},
		{"batch", `[{"jsonrpc":"2.0","id":7,"method":"m"}]`, "-32600 null"},
		{"broken answer", `{"id":7,"result":1}`, ""},
		{"error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, ""},
		{"error without id", `{"jsonrpc":"2.0","error":{"code":1,"message":""}}`, ""},
		{"long request", `{"jsonrpc":"2.0","method":"m","params":["` + long + `"],"id":7}`, "-32600 7"},
		{"long notification", `{"jsonrpc":"2.0","method":"m","params":["` + long + `"]}`, ""},
		{"long result", `{"result":"` + long + `","jsonrpc":"2.0","id":7}`, ""},
		{"long error", `{"error":{"code":1,"message":"` + long + `"},"jsonrpc":"2.0","id":7}`, ""},
		{"long log line", long + long, "-32700 null"},
	}
	for _, tt := range tests {
		for _, quiet := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/quiet=%v", tt.name, quiet), func(t *testing.T) {
				var out bytes.Buffer
				var bad []framing.Message
				l := New(strings.NewReader(tt.line), &out, Options{MaxLine: over, Quiet: quiet,
					OnBadLine: func(m framing.Message) { bad = append(bad, m) }})
				if m, err := l.Next(); err != io.EOF {
					t.Fatalf("Next = %s, %v, want the end", m.Line, err)
				}
				if len(bad) != 1 {
					t.Errorf("OnBadLine called %d times, want once", len(bad))
				}
				want := tt.want
				if quiet {
					want = ""
				}
				if got := errorOf(t, out.Bytes()); got != want {
					t.Errorf("answer = %s, want %s", got, want)
				}
			})
		}
	}
}

// errorOf returns the code and the id of the one error response in out, or "" if out is empty.
func errorOf(t *testing.T, out []byte) string {
	t.Helper()
	if len(out) == 0 {
		return ""
	}
	var r struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Error.Message == "" {
		t.Fatalf("output = %s, %v, want one error response with a message", out, err)
	}
	return fmt.Sprintf("%d %s", r.Error.Code, r.ID)
}

func TestAnswersStopAfterManyBadLines(t *testing.T) {
	var out bytes.Buffer
	ping := `{"jsonrpc":"2.0","method":"ping"}` + "\n"
	bad := strings.Repeat("bad\n", maxAnswers+20)
	l := New(strings.NewReader(bad+ping+bad), &out, Options{})
	if _, err := l.Next(); err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(out.Bytes(), []byte("\n")); got != maxAnswers {
		t.Errorf("%d answers to %d bad lines, want %d", got, maxAnswers+20, maxAnswers)
	}
	l.Next()
	if got := bytes.Count(out.Bytes(), []byte("\n")); got != 2*maxAnswers {
		t.Errorf("%d answers after a good line and as many again, want %d", got, 2*maxAnswers)
	}
}

func TestIDs(t *testing.T) {
	tests := []struct {
		id     string
		hidden bool
	}{
		{"0", false}, {"-1", false}, {`""`, false}, {`"7"`, false}, {`"a\u0000b"`, false},
		{"9007199254740992", false}, {"-9007199254740992", false},
		{"9007199254740993", true}, {"-9007199254740993", true}, {"-0", true}, {"100000000000000000000000000", true},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			var out bytes.Buffer
			l := New(strings.NewReader(`{"jsonrpc":"2.0","id":`+tt.id+`,"method":"m"}`), &out, Options{})
			m, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.ID) != tt.id; got != tt.hidden {
				t.Errorf("the SDK sees id %s, hidden = %v, want %v", m.ID, got, tt.hidden)
			}
			var seen any // as the SDKs decode it
			if err := json.Unmarshal(m.ID, &seen); err != nil {
				t.Fatal(err)
			}
			answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": seen, "result": 1})
			if _, err := l.Write(append(answer, '\n')); err != nil {
				t.Fatal(err)
			}
			if want := `"id":` + tt.id; !strings.Contains(out.String(), want) {
				t.Errorf("answer = %s, want it to have %s", &out, want)
			}
		})
	}
}

// TestForgedID has a peer use our prefix for what is no number: it must not get raw bytes into the output.
func TestForgedID(t *testing.T) {
	for _, forged := range []string{`1,"x":1`, "", "01", "-", "1.5"} {
		id, _ := json.Marshal(hiddenPrefix + forged)
		var out bytes.Buffer
		l := New(strings.NewReader(""), &out, Options{})
		fmt.Fprintf(l, `{"jsonrpc":"2.0","id":%s,"result":1}`+"\n", id)
		if want := fmt.Sprintf(`"id":%s,`, id); !strings.Contains(out.String(), want) {
			t.Errorf("answer = %s, want it to have %s", &out, want)
		}
	}
}

func TestRepeatedRequest(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":"\u0061","method":"m"}` + "\n"
	again := `{"jsonrpc":"2.0","id":"a","method":"m"}` + "\n"
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) { // the wait for the first's answer takes no real time
		l := New(strings.NewReader(call+again), &out, Options{})
		l.Next()
		l.Next()
	})
	if got, want := errorOf(t, out.Bytes()), `-32600 "a"`; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
}

func TestEndOfInput(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n"
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	tests := []struct {
		name  string
		in    string
		opts  Options
		then  func(l *Link) // after a second
		out   io.Writer
		waits time.Duration
	}{
		{name: "nothing in hand", in: "", waits: 0},
		{name: "answered", in: call, then: func(l *Link) { io.WriteString(l, `{"jsonrpc":"2.0","id":1,"result":1}`+"\n") }, waits: time.Second},
		{name: "another answered", in: call, then: func(l *Link) { io.WriteString(l, `{"jsonrpc":"2.0","id":2,"result":1}`+"\n") }, waits: 5 * time.Second},
		{name: "cancelled", in: call + cancel, waits: 0},
		{name: "never answered", in: call, opts: Options{DrainTimeout: time.Minute}, waits: time.Minute},
		{name: "closed", in: call, then: func(l *Link) { l.Close() }, waits: time.Second},
		{name: "peer gone", in: call, out: broken{}, then: func(l *Link) { io.WriteString(l, `{"jsonrpc":"2.0","method":"m"}`+"\n") }, waits: time.Second},
		{name: "client", in: call, opts: Options{Quiet: true}, waits: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tt.out == nil {
					tt.out = io.Discard
				}
				l := New(strings.NewReader(tt.in), tt.out, tt.opts)
				if tt.then != nil {
					time.AfterFunc(time.Second, func() { tt.then(l) })
				}
				start := time.Now()
				var err error
				for err == nil {
					_, err = l.Next()
				}
				if got := time.Since(start); err != io.EOF || got != tt.waits {
					t.Errorf("Next ended after %v with %v, want %v and io.EOF", got, err, tt.waits)
				}
			})
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestCancellationOfHiddenID(t *testing.T) {
	const id = "9007199254740993"
	in := `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"late"}}`
	l := New(strings.NewReader(in), io.Discard, Options{})
	call, _ := l.Next()
	m, err := l.Next()
	if err != nil {
		t.Fatal(err)
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string
	}
	if err := json.Unmarshal(m.Params, &params); err != nil || string(params.RequestID) != string(call.ID) || params.Reason != "late" {
		t.Errorf("cancellation of %s has params %s, %v", call.ID, m.Params, err)
	}
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	l := New(strings.NewReader(""), &out, Options{})
	for _, b := range []byte("{ \"jsonrpc\":\"2.0\",\"method\":\"a\u2028b\" }\n{\"jsonrpc\":\"2.0\",\"method\":\"c\"}\n") {
		if _, err := l.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), `{"jsonrpc":"2.0","method":"a\u2028b"}`+"\n"+`{"jsonrpc":"2.0","method":"c"}`+"\n"; got != want {
		t.Errorf("written = %q, want %q", got, want)
	}
	if _, err := io.WriteString(l, "oops\n"); err == nil {
		t.Error("Write of no JSON succeeded")
	}
}
