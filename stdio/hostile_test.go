package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp/framing"
)

// repeat is a stream of n times the same text.
func repeat(text string, n int) io.Reader {
	chunk := strings.Repeat(text, 1+4096/len(text))
	per := len(chunk) / len(text)
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		for ; n > per; n -= per {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
		io.WriteString(w, strings.Repeat(text, n))
	}()
	return r
}

// A million bad lines get a hundred answers and no memory, and the next good line is answered.
func TestMillionBadLines(t *testing.T) {
	for line, n := range map[string]int{"not json\n": 1_000_000, `{"id":1}` + "\n": 100_000} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var out syncBuffer
		c := NewConn(io.MultiReader(repeat(line, n), strings.NewReader(ping(7)+"\n")), &out, testMethods.Handle, nil)
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
			t.Errorf("the heap has grown by %d bytes, want next to nothing", grown)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != maxBadRow+1 || lines[maxBadRow] != pong(7) {
			t.Errorf("%d answers, the last %s, want %d and %s", len(lines), lines[len(lines)-1], maxBadRow+1, pong(7))
		}
		if s := c.Stats(); s.In.Lines != int64(n)+1 {
			t.Errorf("Stats() has %d lines, want %d", s.In.Lines, n+1)
		}
		runtime.KeepAlive(c)
	}
}

// An over-long request is told so under its own id, while others are answered.
func TestOverLongAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 1<<20)
		p := serve(t, testMethods.Handle, &Options{MaxLine: 1 << 16})
		p.send(wait(1, 50))
		p.feed(`{"jsonrpc":"2.0","id":"first","method":"echo","params":{"text":"`)
		for range 16 {
			p.feed(long)
		}
		p.send(`"}}`, wait(2, 10), `{"method":"echo","params":{"text":"`+long+`"},"jsonrpc":"2.0","id":3}`, ping(4))
		p.wantCodes(`"first":-32600`, "3:-32600", "4", "2", "1")
		p.end(nil)
		if s := p.conn.Stats(); s.TooLong != 2 || s.In.Largest > 1<<16 {
			t.Errorf("Stats() has %d too long, largest %d, want 2 and no over-long one", s.TooLong, s.In.Largest)
		}
	})
}

// Of a flood of requests every single one is answered, with a result or -32000.
func TestFlood(t *testing.T) {
	const n = 20_000
	var in strings.Builder
	for id := range n {
		fmt.Fprintln(&in, ping(id))
	}
	var out syncBuffer
	c := NewConn(strings.NewReader(in.String()), &out, func(context.Context, *Request) (any, error) {
		runtime.Gosched() // somewhat slower than reading
		return nil, nil
	}, &Options{MaxInFlight: 4, MaxQueued: 8})
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range codes(strings.Split(strings.TrimSpace(out.String()), "\n")) {
		got = append(got, strings.TrimSuffix(s, ":-32000"))
	}
	var want []string
	for id := range n {
		want = append(want, fmt.Sprint(id))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d answers, want each of %d ids once", len(got), n)
	}
	if s := c.Stats(); s.Answered != n || s.Refused == 0 || s.Abandoned != 0 {
		t.Errorf("Stats() = %+v, want all answered and some refused", s)
	}
}

// stuck is a writer that blocks until it is let go.
type stuck struct{ open chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.open
	return len(p), nil
}

// A client that stops reading holds up neither the reading, until the limits bite, nor the end of Run.
func TestClientStopsReading(t *testing.T) {
	for _, test := range []struct {
		name string
		line string
		skip int // lines that are read and not counted
	}{
		{"requests", ping(1), 0},
		{"ids in hand", strings.Replace(ping(1), "1", `"`+strings.Repeat("x", 1000)+`"`, 1), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				out := stuck{make(chan struct{})}
				c := NewConn(r, out, testMethods.Handle, nil)
				ctx, stop := context.WithCancel(t.Context())
				run := make(chan error, 1)
				go func() { run <- c.Run(ctx) }()
				fed := make(chan struct{})
				go func() {
					defer close(fed)
					text := strings.Repeat(test.line+"\n", 100)
					for {
						if _, err := io.WriteString(w, text); err != nil {
							return
						}
					}
				}()
				synctest.Wait() // nothing moves any more
				c.out.mu.Lock()
				unsent := len(c.out.buf)
				c.out.mu.Unlock()
				if unsent < maxUnsentReplies || unsent > maxUnsentReplies+2000 {
					t.Errorf("%d bytes unsent, want just over %d", unsent, maxUnsentReplies)
				}
				stop()
				if err := <-run; err != context.Canceled {
					t.Errorf("Run() = %v, want %v", err, context.Canceled)
				}
				if s := c.Stats(); s.Abandoned == 0 || s.Answered != 0 {
					t.Errorf("Stats() has %d abandoned, %d answered, want some, none", s.Abandoned, s.Answered)
				}
				close(out.open)
				r.Close()
				<-fed
			})
		})
	}
}

// When it reads again, everything is there.
func TestClientReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 120_000
		r, w := io.Pipe()
		out := stuck{make(chan struct{})}
		c := NewConn(r, out, testMethods.Handle, &Options{MaxInFlight: 1, MaxQueued: -1})
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context()) }()
		go func() {
			for i := range n {
				fmt.Fprintln(w, ping(i))
			}
			w.Close()
		}()
		synctest.Wait()
		close(out.open)
		if err := <-run; err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
		if s := c.Stats(); s.Answered != n || s.Abandoned != 0 {
			t.Errorf("Stats() has %d answered, %d abandoned, want %d, 0", s.Answered, s.Abandoned, n)
		}
	})
}

// bubbled returns the number of goroutines in the test's bubble, for those of the program include what other tests are ending.
func bubbled(t *testing.T) int {
	t.Helper()
	stacks := make([]byte, 1<<20)
	n := bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble"))
	if n == 0 {
		t.Fatal("the runtime's stacks do not name bubbles")
	}
	return n
}

// Calls to somebody who does not read end with their contexts, and leave nothing behind.
func TestCallsToWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := stuck{make(chan struct{})}
		c := NewConn(r, out, nil, nil)
		run := make(chan error, 1)
		go func() { run <- c.Run(t.Context()) }()
		synctest.Wait()
		before := bubbled(t)
		text := []string{strings.Repeat("x", 1000)}
		for range 3000 {
			ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
			if err := c.Call(ctx, "m", text, nil); err != context.DeadlineExceeded {
				t.Fatalf("Call() = %v, want %v", err, context.DeadlineExceeded)
			}
			if err := c.Notify(ctx, "m", text); err != context.DeadlineExceeded {
				t.Fatalf("Notify() = %v, want %v", err, context.DeadlineExceeded)
			}
			stop()
		}
		synctest.Wait()
		if after := bubbled(t); after > before+1 { // the one that writes
			t.Errorf("%d goroutines, %d before", after, before)
		}
		if n := len(c.out.buf); n > maxUnsentReplies {
			t.Errorf("%d bytes unsent, want %d at most", n, maxUnsentReplies)
		}
		close(out.open)
		w.Close()
		<-run
	})
}

// Handlers may call back while the queue is full: the answers pass it.
func TestCallBackWhileQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			return nil, r.Conn.Call(ctx, "back", nil, nil)
		}, &Options{MaxInFlight: 2, MaxQueued: 2})
		p.send(ping(11), ping(12), ping(13), ping(14), ping(15))
		var first []string
		for range 3 {
			first = append(first, p.next())
		}
		wantSame(t, codes(first), []string{"1", "2", "15:-32000"})
		p.send(pong(1), pong(2))
		var then []string
		for range 4 {
			then = append(then, p.next())
		}
		wantSame(t, codes(then), []string{"11", "12", "3", "4"})
		p.send(pong(3), pong(4))
		wantSame(t, codes([]string{p.next(), p.next()}), []string{"13", "14"})
		p.end(nil)
	})
}

// A notification's handler may call too, although nothing behind it starts.
func TestCallFromNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			if r.ID != nil {
				return nil, nil
			}
			return nil, r.Conn.Call(ctx, "back", nil, nil)
		}, nil)
		p.send(note("n"), ping(11))
		p.want(`{"jsonrpc":"2.0","id":1,"method":"back"}`)
		p.silence()
		p.send(pong(1))
		p.want(pong(11))
		p.end(nil)
	})
}

// Bad lines behind a slow request wait for it once.
func TestBadLinesBehindSlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 1000))
		begin := time.Now()
		for range 50 {
			p.send("?")
			p.wantCodes("null:-32700")
		}
		if took := time.Since(begin); took != maxSettle {
			t.Errorf("50 bad lines took %v, want %v", took, maxSettle)
		}
		p.end(nil)
		p.wantCodes("1")
	})
}

// At the end of the context, a bad line that waits does not hold up anything.
func TestEndWhileSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 1e9), "?")
		synctest.Wait()
		p.stop()
		p.returns(context.Canceled)
		p.silence()
	})
}

// Two of our peers that only complain do so for a while.
func TestTwoPeersShouting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ar, bw := io.Pipe()
		br, aw := io.Pipe()
		shouting := func(framing.Message) {}
		a := NewConn(ar, aw, nil, &Options{OnBadLine: shouting})
		b := NewConn(br, bw, nil, &Options{OnBadLine: shouting})
		go a.Run(t.Context())
		go b.Run(t.Context())
		for range 300 {
			io.WriteString(bw, "?\n") // somebody prints into it
		}
		synctest.Wait()
		if s := b.Stats(); s.Unmatched != maxBadRow || s.Out.Lines != 0 {
			t.Errorf("the other side got %d complaints and wrote %d lines, want %d and none", s.Unmatched, s.Out.Lines, maxBadRow)
		}
		for _, c := range []io.Closer{ar, bw, br, aw} {
			c.Close()
		}
	})
}

// Anything can be in a cancellation.
func TestHostileCancellations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 10))
		for _, params := range []string{`[]`, `{}`, `{"requestId":{}}`, `{"requestId":"1"}`, `{"requestId":1.0}`, `{"id":1}`, `{"requestId":[1,[1]]}`} {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`)
		}
		p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"requestId":1}}`)
		p.wantCodes("1")
		// One with an id is a request, and for the handler.
		p.send(`{"jsonrpc":"2.0","id":2,"method":"notifications/cancelled","params":{"requestId":1}}`)
		p.wantCodes("2:-32601")
		p.end(nil)
	})
}

func TestReadErrorAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.stop()
		p.returns(context.Canceled)
		p.in.CloseWithError(errors.New("late"))
		synctest.Wait()
	})
}
