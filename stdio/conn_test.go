package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// peer is the other side of a connection under test. Its methods fail the test when something else comes than they want.
type peer struct {
	t    *testing.T
	conn *Conn
	in   *io.PipeWriter // what the connection reads
	out  chan string    // the lines that it writes
	run  chan error     // what Run returns
	stop context.CancelFunc
	part []byte
}

// serve runs a connection with handler h. The test has to end it.
func serve(t *testing.T, h Handler, opts *Options) *peer {
	r, w := io.Pipe()
	p := &peer{t: t, in: w, out: make(chan string, 1<<14), run: make(chan error, 1)}
	p.conn = NewConn(r, p, h, opts)
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	go func() { p.run <- p.conn.Run(ctx) }()
	t.Cleanup(func() { stop(); w.Close() })
	return p
}

// Write takes what the connection writes.
func (p *peer) Write(b []byte) (int, error) {
	p.part = append(p.part, b...)
	for {
		line, rest, ok := strings.Cut(string(p.part), "\n")
		if !ok {
			return len(b), nil
		}
		p.part = []byte(rest)
		p.out <- line
	}
}

// send feeds lines.
func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		p.feed(line + "\n")
	}
}

func (p *peer) feed(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatalf("feeding %.80q: %v", text, err)
	}
}

// next returns the next line.
func (p *peer) next() string {
	p.t.Helper()
	select {
	case line := <-p.out:
		return line
	case <-time.After(time.Hour): // of the bubble's time
		p.t.Fatal("no line came")
		return ""
	}
}

// want wants these lines next, in this order.
func (p *peer) want(lines ...string) {
	p.t.Helper()
	for _, want := range lines {
		if got := p.next(); got != want {
			p.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// silence wants nothing to come, however long one waits.
func (p *peer) silence() {
	p.t.Helper()
	synctest.Wait()
	select {
	case line := <-p.out:
		p.t.Fatalf("got %s, want nothing", line)
	default:
	}
}

// end closes the stream and wants Run to return want.
func (p *peer) end(want error) {
	p.t.Helper()
	p.in.Close()
	p.returns(want)
}

func (p *peer) returns(want error) {
	p.t.Helper()
	if err := <-p.run; !errors.Is(err, want) {
		p.t.Fatalf("Run() = %v, want %v", err, want)
	}
}

// codes returns the ids and error codes of lines: "3", "null:-32700".
func codes(lines []string) []string {
	var got []string
	for _, line := range lines {
		var m struct {
			ID    json.RawMessage
			Error *Error
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			got = append(got, "unreadable: "+line)
			continue
		}
		s := string(m.ID)
		if m.Error != nil {
			s += fmt.Sprint(":", m.Error.Code)
		}
		got = append(got, s)
	}
	return got
}

// wantCodes wants lines with these ids and codes next, in this order.
func (p *peer) wantCodes(want ...string) {
	p.t.Helper()
	var lines []string
	for range want {
		lines = append(lines, p.next())
	}
	if got := codes(lines); !slices.Equal(got, want) {
		p.t.Fatalf("got %q\nwant %q\n%s", got, want, strings.Join(lines, "\n"))
	}
}

// testMethods are the handlers of most tests.
var testMethods = Methods{
	"ping": func(context.Context, *Request) (any, error) { return nil, nil },
	"echo": func(_ context.Context, r *Request) (any, error) { return r.Params, nil },
	"wait": func(ctx context.Context, r *Request) (any, error) {
		var p struct{ Ms int }
		if err := r.Bind(&p); err != nil {
			return nil, err
		}
		select {
		case <-time.After(time.Duration(p.Ms) * time.Millisecond):
			return map[string]int{"waited": p.Ms}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	},
	"panic": func(context.Context, *Request) (any, error) { panic("ouch") },
	"fail":  func(context.Context, *Request) (any, error) { return nil, io.ErrClosedPipe },
}

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
func pong(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id) }
func wait(id, ms int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"wait","params":{"ms":%d}}`, id, ms)
}

func TestTraceGoodAndBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(ping(1), `{"jsonrpc":`, ping(2), `{"jsonrpc":"2.0","id":"x","method":7}`)
		p.wantCodes("1", "null:-32700", "2", `"x":-32600`)
		p.end(nil)
	})
}

func TestTraceSlowAndFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 80), wait(2, 10))
		p.feed(`{"jsonrpc":"2.0","id":3,"me`)
		time.Sleep(20 * time.Millisecond)
		p.feed(`thod":"ping"}` + "\n")
		p.send("not json", `{"jsonrpc":"2.0","id":5,"method":5}`, `{"jsonrpc":"2.0","method":"nonsense"}`)
		p.wantCodes("2", "3", "null:-32700", "5:-32600", "1")
		p.end(nil)
	})
}

func TestTraceProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			for i := range 2 {
				if err := r.Conn.Notify(ctx, "notifications/progress", map[string]int{"progress": i}); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}, nil)
		p.send(ping(1))
		p.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, pong(1))
		p.end(nil)
	})
}

func TestPingsAndEOFAtOnce(t *testing.T) {
	var in strings.Builder
	want := map[string]bool{}
	for id := range 20 {
		fmt.Fprintln(&in, ping(id))
		want[pong(id)] = true
	}
	for range 1000 {
		var out syncBuffer
		if err := NewConn(strings.NewReader(in.String()), &out, testMethods.Handle, nil).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			got[strings.TrimSuffix(line, "\n")] = true
		}
		if len(got) != 20 {
			t.Fatalf("%d answers, want 20:\n%s", len(got), out.String())
		}
		for line := range want {
			if !got[line] {
				t.Fatalf("no %s in\n%s", line, out.String())
			}
		}
	}
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
