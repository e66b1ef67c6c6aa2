package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp/framing"
)

// pair connects two peers. Closing either's stream is for the test.
func pair(t *testing.T, ha, hb Handler, oa, ob *Options) (a, b *Conn) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	a, b = NewConn(ar, aw, ha, oa), NewConn(br, bw, hb, ob)
	for _, c := range []*Conn{a, b} {
		done := make(chan struct{})
		go func() { c.Run(t.Context()); close(done) }()
		t.Cleanup(func() { bw.Close(); aw.Close(); ar.Close(); br.Close(); <-done })
	}
	return a, b
}

func TestCallResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, nil, testMethods.Handle, nil, nil)
		params := map[string]any{"text": "line\nbreak \u2028 <&>", "n": json.Number("9007199254740993")}
		var got struct {
			Text string
			N    json.Number
		}
		if err := a.Call(t.Context(), "echo", params, &got); err != nil || got.Text != params["text"] || got.N != params["n"] {
			t.Errorf("Call() = %v with %+v, want %v", err, got, params)
		}
		var raw json.RawMessage
		if err := a.Call(t.Context(), "echo", json.RawMessage(`[ 1.50 ]`), &raw); err != nil || string(raw) != "[1.50]" {
			t.Errorf("Call() = %v with %s, want [1.50]", err, raw)
		}
		for _, absent := range []any{nil, json.RawMessage(nil), (*int)(nil), json.RawMessage("null")} {
			if err := a.Call(t.Context(), "echo", absent, &raw); err != nil || string(raw) != "{}" {
				t.Errorf("Call(%#v) = %v with %s, want no params and so {}", absent, err, raw)
			}
		}
		if err := a.Call(t.Context(), "echo", []int{1}, nil); err != nil {
			t.Errorf("Call() = %v without a result, want nil", err)
		}
		var number int
		if err := a.Call(t.Context(), "echo", []string{"x"}, &number); err == nil || !strings.Contains(err.Error(), "result") {
			t.Errorf("Call() = %v into an int, want an error about the result", err)
		}
	})
}

func TestCallErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, nil, func(_ context.Context, r *Request) (any, error) {
			switch r.Method {
			case "data":
				return nil, &Error{-5, "no", map[string]int{"a": 1}}
			case "big":
				return nil, &Error{math.MaxInt, "big", nil}
			}
			return nil, io.ErrNoProgress
		}, nil, nil)
		var e *Error
		err := a.Call(t.Context(), "data", nil, nil)
		if !errors.As(err, &e) || e.Code != -5 || e.Message != "no" || string(e.Data.(json.RawMessage)) != `{"a":1}` {
			t.Errorf("Call() = %#v, want the error that was sent", err)
		}
		if want := `no (code -5, data {"a":1})`; err.Error() != want {
			t.Errorf("Error() = %q, want %q", err, want)
		}
		if err := a.Call(t.Context(), "big", nil, nil); err.Error() != fmt.Sprintf("big (code %d)", math.MaxInt) {
			t.Errorf("Call() = %v, want the greatest code there is", err)
		}
		if err := a.Call(t.Context(), "m", nil, nil); !errors.As(err, &e) || e.Code != CodeInternalError || !strings.Contains(err.Error(), io.ErrNoProgress.Error()) {
			t.Errorf("Call() = %v, want -32603 with the exception", err)
		}
		for _, params := range []any{math.NaN(), 5, "text", make(chan int), json.RawMessage("{")} {
			if err := a.Call(t.Context(), "m", params, nil); err == nil || errors.As(err, &e) {
				t.Errorf("Call(%v) = %v, want an error of our own", params, err)
			}
			if err := a.Notify(t.Context(), "m", params); err == nil {
				t.Errorf("Notify(%v) = nil, want an error", params)
			}
		}
		if err := a.Call(t.Context(), "", nil, nil); err == nil {
			t.Error("Call() = nil without a method, want an error")
		}
		ended, stop := context.WithCancel(t.Context())
		stop()
		if err := a.Call(ended, "m", nil, nil); err != context.Canceled {
			t.Errorf("Call() = %v, want %v", err, context.Canceled)
		}
		if err := a.Notify(ended, "m", nil); err != context.Canceled {
			t.Errorf("Notify() = %v, want %v", err, context.Canceled)
		}
		synctest.Wait() // what is written is counted after the Write
		if s := a.Stats(); s.Calls != 0 || s.Out.Kinds[framing.Request] != 3 {
			t.Errorf("Stats() has %d calls, %d requests sent, want 0, 3", s.Calls, s.Out.Kinds[framing.Request])
		}
	})
}

// caller is a connection whose other side is the test: it sends a call and returns its outcome.
func caller(t *testing.T, opts *Options) (*peer, func(ctx context.Context, method string) chan error) {
	p := serve(t, nil, opts)
	return p, func(ctx context.Context, method string) chan error {
		result := make(chan error, 1)
		go func() { result <- p.conn.Call(ctx, method, nil, nil) }()
		return result
	}
}

func TestCallIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, call := caller(t, nil)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		result := call(ctx, "slow")
		p.want(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		if err := <-result; err != context.DeadlineExceeded {
			t.Errorf("Call() = %v, want %v", err, context.DeadlineExceeded)
		}
		p.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"context deadline exceeded","requestId":1}}`)
		p.send(pong(1), pong(1)) // late, and then once more
		synctest.Wait()
		if s := p.conn.Stats(); s.Late != 1 || s.Unmatched != 1 {
			t.Errorf("Stats() has %d late, %d unmatched, want 1, 1", s.Late, s.Unmatched)
		}

		ctx, cause := context.WithCancelCause(t.Context())
		result = call(ctx, "initialize")
		p.want(`{"jsonrpc":"2.0","id":2,"method":"initialize"}`)
		cause(io.ErrClosedPipe)
		if err := <-result; err != context.Canceled {
			t.Errorf("Call() = %v, want %v", err, context.Canceled)
		}
		p.silence() // MCP: a client must not cancel initialize
		p.end(nil)
	})
}

// The memory of given-up calls is bounded.
func TestCallsGivenUpForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := caller(t, nil)
		for range maxGone + 2 {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			p.conn.Call(ctx, "m", nil, nil)
			stop()
			p.next()
			p.next()
		}
		if n := len(p.conn.gone); n > maxGone {
			t.Errorf("%d given-up calls are kept, want %d at most", n, maxGone)
		}
		p.end(nil)
	})
}

func TestCallUnusableResponses(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       error
	}{
		{"too long", `{"jsonrpc":"2.0","result":["` + strings.Repeat("x", 200) + `"],"id":1}`, framing.ErrTooLong},
		{"both", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}`, framing.ErrInvalidMessage},
		{"no version", `{"id":1,"result":1}`, framing.ErrInvalidMessage},
		{"error a string", `{"jsonrpc":"2.0","id":1,"error":"boom"}`, framing.ErrInvalidMessage},
		{"neither", `{"jsonrpc":"2.0","id":1}`, framing.ErrInvalidMessage},
		{"id a double, and both", `{"jsonrpc":"2.0","id":1.0,"result":1,"error":{"code":1,"message":"m"}}`, framing.ErrInvalidMessage},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := 0
				p, call := caller(t, &Options{MaxLine: 150, OnBadLine: func(framing.Message) { bad++ }})
				result := call(t.Context(), "m")
				p.next()
				p.send(test.line)
				if err := <-result; !errors.Is(err, test.want) {
					t.Errorf("Call() = %v, want %v", err, test.want)
				}
				p.silence()
				p.end(nil)
				if bad != 1 {
					t.Errorf("OnBadLine called %d times, want once", bad)
				}
			})
		})
	}
}

// Ids that peers give back in their own way are ours all the same.
func TestCallIDs(t *testing.T) {
	for _, id := range []string{"1", "1.0", "1.000", "1e0", "10e-1", `"1"`} {
		t.Run(id, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, call := caller(t, nil)
				result := call(t.Context(), "m")
				p.next()
				p.send(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":7,"message":"m"}}`)
				var e *Error
				if err := <-result; !errors.As(err, &e) || e.Code != 7 {
					t.Errorf("Call() = %v, want the error that was sent", err)
				}
				p.silence()
				p.end(nil)
			})
		})
	}
}

// A broken request of the other side is answered even if a call of ours is in flight, but not if it has that call's id: it
// may then be a response without a result.
func TestCallBareObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, call := caller(t, nil)
		result := call(t.Context(), "m")
		p.next()
		p.send(`{"jsonrpc":"2.0","id":2}`, `{"jsonrpc":"2.0","id":1,"method":7}`)
		p.wantCodes("2:-32600", "1:-32600")
		p.send(`{"jsonrpc":"2.0","id":1}`)
		if err := <-result; !errors.Is(err, framing.ErrInvalidMessage) {
			t.Errorf("Call() = %v, want %v", err, framing.ErrInvalidMessage)
		}
		p.send(`{"jsonrpc":"2.0","id":1}`)
		p.wantCodes("1:-32600")
		p.end(nil)
	})
}

// Any other id is nobody's.
func TestCallForeignResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad []string
		p, call := caller(t, &Options{OnBadLine: func(m framing.Message) { bad = append(bad, string(m.ID)) }})
		result := call(t.Context(), "m")
		p.next()
		foreign := []string{`"x"`, `""`, `"1 "`, "0", "2", "-1", "10000000000000000001", "18446744073709551617", "-0", "null"}
		for _, id := range foreign {
			p.send(`{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":` + id + `}`)
		}
		p.silence()
		if fmt.Sprint(bad) != fmt.Sprint(foreign) {
			t.Errorf("OnBadLine got %q, want %q", bad, foreign)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"result":null}`)
		if err := <-result; err != nil {
			t.Errorf("Call() = %v, want nil", err)
		}
		p.end(nil)
		if s := p.conn.Stats(); s.Unmatched != int64(len(foreign)) {
			t.Errorf("Stats() has %d unmatched, want %d", s.Unmatched, len(foreign))
		}
	})
}

func TestCallsFailAtEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, call := caller(t, nil)
		result := call(t.Context(), "m")
		p.next()
		p.end(nil)
		if err := <-result; err != ErrClosed {
			t.Errorf("Call() = %v, want %v", err, ErrClosed)
		}
		if err := <-call(t.Context(), "m"); err != ErrClosed {
			t.Errorf("Call() = %v after the end, want %v", err, ErrClosed)
		}
		if err := p.conn.Notify(t.Context(), "m", nil); err != ErrClosed {
			t.Errorf("Notify() = %v after the end, want %v", err, ErrClosed)
		}
	})
}

// At EOF a handler that waits for an answer learns at once that none will come, and is itself answered.
func TestHandlerInCallAtEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			return nil, r.Conn.Call(ctx, "back", nil, nil)
		}, nil)
		p.send(ping(1))
		p.next()
		begin := time.Now()
		p.end(nil)
		p.wantCodes("1:-32603")
		if took := time.Since(begin); took != 0 {
			t.Errorf("Run returned after %v, want at once", took)
		}
	})
}

func TestCallBeforeRun(t *testing.T) {
	r, w := io.Pipe()
	c := NewConn(r, writerFunc(func(p []byte) (int, error) {
		go io.WriteString(w, pong(1)+"\n")
		return len(p), nil
	}), nil, nil)
	result := make(chan error)
	go func() { result <- c.Call(t.Context(), "m", nil, nil) }()
	go c.Run(t.Context())
	if err := <-result; err != nil {
		t.Errorf("Call() = %v, want nil", err)
	}
	w.Close()
}

func TestCallBrokenBeforeRun(t *testing.T) {
	c := NewConn(strings.NewReader(""), writerFunc(func(p []byte) (int, error) { return 0, io.ErrClosedPipe }), nil, nil)
	for range 2 {
		if err := c.Notify(t.Context(), "m", nil); !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Notify() = %v, want %v and %v", err, ErrClosed, io.ErrClosedPipe)
		}
	}
	if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Call() = %v, want %v and %v", err, ErrClosed, io.ErrClosedPipe)
	}
	if err := c.Run(t.Context()); err != io.ErrClosedPipe {
		t.Errorf("Run() = %v, want %v", err, io.ErrClosedPipe)
	}
}

// Both sides call each other, from handlers too, many at a time.
func TestCallsBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := func(ctx context.Context, r *Request) (any, error) {
			var depth [1]int
			if err := r.Bind(&depth); err != nil || depth[0] == 0 {
				return depth, err
			}
			var below [1]int
			err := r.Conn.Call(ctx, "m", [1]int{depth[0] - 1}, &below)
			return [1]int{below[0] + 1}, err
		}
		a, b := pair(t, back, back, nil, nil)
		results := make(chan error)
		for i := range 40 {
			from := a
			if i%2 == 0 {
				from = b
			}
			go func() {
				var got [1]int
				err := from.Call(t.Context(), "m", [1]int{3}, &got)
				if err == nil && got[0] != 3 {
					err = fmt.Errorf("got %d, want 3", got[0])
				}
				results <- err
			}()
		}
		for range 40 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBindAbsent(t *testing.T) {
	v := 7
	if err := (&Request{}).Bind(&v); err != nil || v != 7 {
		t.Errorf("Bind() = %v with %d, want nil with 7", err, v)
	}
}

// The members of an error object are those with just these names.
func TestCallErrorMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, call := caller(t, nil)
		result := call(t.Context(), "m")
		p.next()
		p.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m","Code":"x","MESSAGE":"y","Data":1}}`)
		var e *Error
		if err := <-result; !errors.As(err, &e) || *e != (Error{Code: -5, Message: "m"}) {
			t.Errorf("Call() = %v, want code -5, message m and no data", err)
		}
		p.end(nil)
	})
}

// What cannot be represented is an error, not some other number.
func TestCallErrorCodeBeyondInt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, call := caller(t, nil)
		result := call(t.Context(), "m")
		p.next()
		p.send(`{"jsonrpc":"2.0","id":1,"error":{"code":99999999999999999999,"message":"m"}}`)
		var e *Error
		if err := <-result; err == nil || errors.As(err, &e) {
			t.Errorf("Call() = %v, want an error of our own", err)
		}
		p.end(nil)
	})
}

// A call on a broken connection waits for the reason, as long as its context allows.
func TestCallOnBrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := NewConn(r, writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), nil, nil)
		c.linger = time.Second
		reason := errors.New("exit status 9")
		c.cause = func(error) error { return reason }
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context()) }()
		synctest.Wait() // before Run nobody will know the reason
		if err := c.Notify(t.Context(), "m", nil); !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Notify() = %v, want %v and %v", err, ErrClosed, io.ErrClosedPipe)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		if err := c.Call(ctx, "m", nil, nil); err != context.DeadlineExceeded {
			t.Errorf("Call() = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrClosed) || !errors.Is(err, reason) {
			t.Errorf("Call() = %v, want %v and %v", err, ErrClosed, reason)
		}
		if err := c.Notify(t.Context(), "m", nil); !errors.Is(err, ErrClosed) || !errors.Is(err, reason) {
			t.Errorf("Notify() = %v, want %v and %v", err, ErrClosed, reason)
		}
		if err := <-run; err != io.ErrClosedPipe {
			t.Errorf("Run() = %v, want %v", err, io.ErrClosedPipe)
		}
		w.Close()
	})
}

// A write fails because the peer has gone, and its last answer is still to be read when the read loop has the time.
func TestAnswerBehindFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		wrote := make(chan struct{})
		write := func(p []byte) (int, error) {
			select {
			case <-wrote:
				return 0, io.ErrClosedPipe
			default:
				close(wrote)
				return len(p), nil
			}
		}
		c := NewConn(r, writerFunc(write), nil, &Options{OnBadLine: func(framing.Message) { time.Sleep(time.Minute) }})
		c.linger = time.Second
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context()) }()
		result := make(chan error, 1)
		go func() { result <- c.Call(t.Context(), "m", nil, nil) }()
		<-wrote
		io.WriteString(w, "bye\n")
		go io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":7}`+"\n")
		c.Notify(t.Context(), "m", nil)
		if err := <-result; err != nil {
			t.Errorf("Call() = %v", err)
		}
		if err := <-run; err != io.ErrClosedPipe {
			t.Errorf("Run() = %v, want %v", err, io.ErrClosedPipe)
		}
		w.Close()
	})
}
