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

// TestBadAnswers has answers to a call that the SDK would wait for for ever.
func TestBadAnswers(t *testing.T) {
	const failed = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"unusable response: framing: `
	tests := []struct{ name, line, want string }{
		{"good", `{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"float", `{"jsonrpc":"2.0","id":7.0,"result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"float, error", `{"jsonrpc":"2.0","id":70e-1,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`},
		{"string", `{"jsonrpc":"2.0","id":"7","result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"result and error", `{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"m"}}`, failed},
		{"undefined", `{"jsonrpc":"2.0","id":7}`, failed},
		{"error of another kind", `{"jsonrpc":"2.0","id":7,"error":{"code":"E"}}`, failed},
		{"too long", `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 200) + `","id":7}`, failed},
		{"another call's", `{"jsonrpc":"2.0","id":8.0,"result":{}}`, ""},
		{"no number", `{"jsonrpc":"2.0","id":7.5,"result":{}}`, ""},
		{"a request", `{"jsonrpc":"2.0","id":7,"method":7}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(strings.NewReader(tt.line+"\n"+tt.line), io.Discard, Options{MaxLine: 200, Quiet: true})
			io.WriteString(l, `{"jsonrpc":"2.0","id":7,"method":"m"}`+"\n")
			var got []byte
			if m, err := l.Next(); err == nil {
				got, _ = framing.Encode(m)
			}
			if !bytes.HasPrefix(got, []byte(tt.want)) || (tt.want == "") != (got == nil) {
				t.Errorf("the SDK gets %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAnswersStopAfterManyBadLines(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"n"}` + "\n"
	many := strings.Repeat("bad\n", maxAnswers+20)
	for in, want := range map[string]int{many: maxAnswers, many + note + many: 2 * maxAnswers, strings.Repeat("bad\n"+note, 200): 200} {
		var out bytes.Buffer
		l := New(strings.NewReader(in), &out, Options{})
		for {
			if _, err := l.Next(); err != nil {
				break
			}
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("%d answers to %d bad lines, want %d", got, strings.Count(in, "bad"), want)
		}
	}
}

// A stuck is the output to a peer that does not read until it is closed.
type stuck struct {
	bytes.Buffer
	reads chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.reads
	return s.Buffer.Write(p)
}

// TestPeerThatReadsLater has a peer that writes everything before it reads: nothing that waits for it may stop the reading.
func TestPeerThatReadsLater(t *testing.T) {
	const bad = maxWaiting + 100
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{reads: make(chan struct{})}
		l := New(strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","method":"n"}`+"\nbad\n", bad)), out, Options{})
		go io.WriteString(l, `{"jsonrpc":"2.0","method":"before"}`+"\n")
		synctest.Wait()
		for range bad {
			if _, err := l.Next(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first reply is on its way
		}
		time.AfterFunc(time.Second, func() { close(out.reads) })
		if _, err := l.Next(); err != io.EOF {
			t.Errorf("Next = %v, want io.EOF", err)
		}
		if got, want := strings.Count(out.String(), "-32700"), 1+maxWaiting; got != want {
			t.Errorf("%d answers to %d bad lines, want %d", got, bad, want)
		}
	})
}

// reader calls Next as soon as something is written, like a peer that is faster than the return from Write.
type reader struct {
	l    *Link
	next func(framing.Message, error)
}

func (r *reader) Write(p []byte) (int, error) {
	r.next(r.l.Next())
	return len(p), nil
}

// TestIDUsedAgain has a peer that has one call at a time, and one id for all.
func TestIDUsedAgain(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n"
	var got []string
	out := &reader{next: func(m framing.Message, err error) { got = append(got, m.Method) }}
	out.l = New(strings.NewReader(call+call), out, Options{DrainTimeout: 1})
	if _, err := out.l.Next(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(out.l, `{"jsonrpc":"2.0","id":1,"result":1}`+"\n")
	if len(got) != 1 || got[0] != "m" {
		t.Errorf("after the first answer Next = %q, want the second request", got)
	}
}

func TestIDs(t *testing.T) {
	tests := []struct {
		id     string
		hidden bool
	}{
		{"0", false}, {"-1", false}, {`""`, false}, {`"7"`, false}, {`"a\u0000b"`, false},
		{`"\u0061\/\u2028<&>"`, false}, {`"` + "\u2029" + `"`, false}, {`"\ud83d\ude00"`, false},
		{`"\ud83d"`, true}, {`"\uDE00a"`, true}, {`"\ufffd"`, true}, {`"\u0000id:5"`, true},
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
			id := strings.ReplaceAll(tt.id, "\u2029", `\u2029`) // as in all frames
			if want := `"id":` + id + ","; !strings.Contains(out.String(), want) {
				t.Errorf("answer = %s, want it to have %s", &out, want)
			}
		})
	}
}

// TestForgedID has an answer under an id with our prefix before what is no id: that must not get raw bytes into the output.
func TestForgedID(t *testing.T) {
	for _, forged := range []string{`1,"x":1`, "", "01", "-", "1.5", "null", `"a"b`, `"a`, `"a" , "x":"b"`} {
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
	for _, quiet := range []bool{false, true} { // it is no bad line: a client answers it too
		var out bytes.Buffer
		synctest.Test(t, func(*testing.T) { // the wait for the first's answer takes no real time
			l := New(strings.NewReader(call+again), &out, Options{Quiet: quiet})
			l.Next()
			l.Next()
			synctest.Wait()
		})
		if got, want := errorOf(t, out.Bytes()), `-32600 "a"`; got != want {
			t.Errorf("quiet = %v: answer = %s, want %s", quiet, got, want)
		}
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
		{name: "another cancelled", in: strings.Replace(call, "1", `""`, 1) + strings.Replace(cancel, "1}", "null}", 1), waits: 5 * time.Second},
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
	var out bytes.Buffer
	l := New(strings.NewReader(in), &out, Options{})
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
	fmt.Fprintf(l, `{"jsonrpc":"2.0","id":%s,"result":1}`+"\n", call.ID)
	if want := `"id":` + id + ","; !strings.Contains(out.String(), want) {
		t.Errorf("answer to a cancelled request = %s, want it to have %s", &out, want)
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
	out.Reset()
	io.WriteString(l, `{"jsonrpc":"2.0","id":1,"result":"a`+"\xff"+`b"}`+"\n")
	if got, want := out.String(), `{"jsonrpc":"2.0","id":1,"result":"a`+"\uFFFD"+`b"}`+"\n"; got != want {
		t.Errorf("written after invalid UTF-8 in raw JSON = %q, want %q", got, want)
	}
}
