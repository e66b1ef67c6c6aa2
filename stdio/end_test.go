package stdio

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/mcp/framing"
)

func TestEndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, &Options{MaxInFlight: 2})
		p.send(wait(1, 2000), wait(2, 1000), wait(3, 1500), note("ping"), ping(4))
		p.end(nil) // waits for all of them
		p.wantCodes("2", "1", "4", "3")
	})
}

func TestEndDrainTimeout(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration
		took    time.Duration
	}{{"default", 0, 5 * time.Second}, {"own", time.Minute, time.Minute}, {"none", -1, 0}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				pings := 0
				p := serve(t, func(ctx context.Context, r *Request) (any, error) {
					if r.Method == "ping" {
						pings++
						return nil, nil
					}
					<-ctx.Done()
					ended <- ctx.Err()
					return nil, nil
				}, &Options{DrainTimeout: test.timeout, MaxInFlight: 1})
				p.send(ping(0))
				p.want(pong(0))
				begin := time.Now()
				p.send(wait(1, 0), ping(2))
				synctest.Wait()
				p.end(nil)
				if took := time.Since(begin); took != test.took {
					t.Errorf("Run returned after %v, want %v", took, test.took)
				}
				if err := <-ended; err != context.Canceled {
					t.Errorf("the handler's context ended with %v, want %v", err, context.Canceled)
				}
				p.silence()
				if pings != 1 {
					t.Errorf("%d pings handled, want none after the end", pings-1)
				}
				if s := p.conn.Stats(); s.Queued != 0 {
					t.Errorf("Stats() has %d queued, want 0", s.Queued)
				}
				if s := p.conn.Stats(); s.Abandoned != 2 || s.Answered != 1 {
					t.Errorf("Stats() has %d abandoned, %d answered, want 2, 1", s.Abandoned, s.Answered)
				}
			})
		})
	}
}

func TestEndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 1e9))
		synctest.Wait()
		p.stop() // while Read is blocked
		p.returns(context.Canceled)
		p.silence()
		p.send(ping(2)) // what the blocked Read still gets is not served
		p.silence()
		if s := p.conn.Stats(); s.Abandoned != 1 || s.In.Lines != 1 {
			t.Errorf("Stats() has %d of %d lines abandoned, want 1 of 1", s.Abandoned, s.In.Lines)
		}
	})
}

// Of what waits nothing is kept, though a handler stays.
func TestEndDropsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		p := serve(t, func(context.Context, *Request) (any, error) { <-open; return nil, nil }, &Options{MaxInFlight: 1})
		p.send(ping(1), ping(2), ping(3))
		synctest.Wait()
		p.stop()
		p.returns(context.Canceled)
		if s := p.conn.Stats(); s.InFlight != 1 || s.Queued != 0 || s.Abandoned != 3 {
			t.Errorf("Stats() has %d in flight, %d queued, %d abandoned, want 1, 0, 3", s.InFlight, s.Queued, s.Abandoned)
		}
		close(open)
	})
}

// What the read loop is at when the connection ends is not queued for ever, and not called refused.
func TestEndInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, hold, open := make(chan bool), make(chan bool), make(chan bool)
		p := serve(t, func(context.Context, *Request) (any, error) { <-open; return nil, nil },
			&Options{Batches: true, MaxInFlight: 1, MaxQueued: 2, OnBadLine: func(framing.Message) { close(at); <-hold }})
		p.send(ping(0), "[1,"+ping(1)+","+note("m")+","+ping(2)+","+note("m")+"]")
		<-at
		p.stop()
		p.returns(context.Canceled)
		close(hold)
		synctest.Wait()
		if s := p.conn.Stats(); s.Queued != 0 || s.Refused != 0 || s.Dropped != 0 || s.Abandoned != 4 {
			t.Errorf("Stats() has %d queued, %d refused, %d dropped, %d abandoned, want 0, 0, 0, 4", s.Queued, s.Refused, s.Dropped, s.Abandoned)
		}
		close(open)
	})
}

// What is ready when the connection ends does not start, whether its goroutine comes before or after.
func TestEndDropsReady(t *testing.T) {
	for _, end := range []bool{false, true} {
		c := NewConn(strings.NewReader(""), io.Discard, nil, nil)
		if err := c.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.queue.push(&job{})
		c.queue.grant()
		if end {
			c.end()
		}
		if j := c.take(nil); (j == nil) != end {
			t.Errorf("take() = %v, connection ended: %v", j, end)
		}
	}
}

func TestEndContextInDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(wait(1, 1e9))
		p.in.Close()
		synctest.Wait()
		p.stop()
		p.returns(context.Canceled)
	})
}

func TestEndReadError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("cable")
		var out syncBuffer
		r := io.MultiReader(strings.NewReader(wait(1, 10)+"\n"), iotest.ErrReader(broken))
		if err := NewConn(r, &out, testMethods.Handle, nil).Run(t.Context()); err != broken {
			t.Errorf("Run() = %v, want %v", err, broken)
		}
		if want := `{"jsonrpc":"2.0","id":1,"result":{"waited":10}}` + "\n"; out.String() != want {
			t.Errorf("written %q, want %q", out.String(), want)
		}
	})
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// readerFunc is an io.Reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestEndWriteError(t *testing.T) {
	broken := errors.New("EPIPE")
	for _, test := range []struct {
		name string
		w    io.Writer
		want error
	}{
		{"error", writerFunc(func([]byte) (int, error) { return 0, broken }), broken},
		{"short", writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil }), io.ErrShortWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				defer w.Close()
				c := NewConn(r, test.w, testMethods.Handle, nil)
				run := make(chan error, 1)
				go func() { run <- c.Run(t.Context()) }()
				io.WriteString(w, ping(1)+"\n"+wait(2, 1e9)+"\n")
				if err := <-run; err != test.want { // although the reader goes on
					t.Errorf("Run() = %v, want %v", err, test.want)
				}
				if err := c.Notify(t.Context(), "m", nil); !errors.Is(err, ErrClosed) || !errors.Is(err, test.want) {
					t.Errorf("Notify() = %v, want %v and %v", err, ErrClosed, test.want)
				}
				if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrClosed) || !errors.Is(err, test.want) {
					t.Errorf("Call() = %v, want %v and %v", err, ErrClosed, test.want)
				}
			})
		})
	}
}

func TestEndWriteErrorInDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("EPIPE")
		c := NewConn(strings.NewReader(wait(1, 10)+"\n"), writerFunc(func([]byte) (int, error) { return 0, broken }), testMethods.Handle, nil)
		if err := c.Run(t.Context()); err != broken {
			t.Errorf("Run() = %v, want %v", err, broken)
		}
	})
}

// A client handles what its server has said before it went, in order. Its requests are over.
func TestEndHearsOut(t *testing.T) {
	broken := errors.New("EPIPE")
	for _, test := range []struct {
		name string
		err  error // of Write
		stay bool  // the last handler never ends
		want error
		took time.Duration
	}{
		{"end of stream", nil, false, nil, 300 * time.Millisecond},
		{"broken pipe", broken, false, broken, 300 * time.Millisecond},
		{"handler stays", nil, true, nil, 1050 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard, asked atomic.Int64
				in := strings.Repeat(`{"jsonrpc":"2.0","method":"progress"}`+"\n", 3) + ping(1) + "\n" + ping(2) + "\n"
				eof := readerFunc(func([]byte) (int, error) { time.Sleep(50 * time.Millisecond); return 0, io.EOF })
				c := NewConn(io.MultiReader(strings.NewReader(in), eof), writerFunc(func(p []byte) (int, error) { return len(p), test.err }),
					func(ctx context.Context, r *Request) (any, error) {
						if r.ID != nil {
							<-ctx.Done()
							asked.Add(1)
							return nil, nil
						}
						time.Sleep(100 * time.Millisecond)
						if n := heard.Add(1); test.stay && n == 3 {
							time.Sleep(time.Hour)
						}
						return nil, nil
					}, &Options{DrainTimeout: -1, MaxInFlight: 1})
				c.linger = time.Second
				begin := time.Now()
				if test.err != nil {
					c.Notify(t.Context(), "m", nil)
				}
				if err := c.Run(t.Context()); err != test.want {
					t.Errorf("Run() = %v, want %v", err, test.want)
				}
				if took := time.Since(begin); took != test.took {
					t.Errorf("Run returned after %v, want %v", took, test.took)
				}
				if heard.Load() != 3 || !test.stay && asked.Load() != 2 {
					t.Errorf("handled %d notifications and %d requests, want 3 and 2", heard.Load(), asked.Load())
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

func TestRunTwice(t *testing.T) {
	c := NewConn(strings.NewReader(""), io.Discard, nil, nil)
	if err := c.Run(t.Context()); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
	if err := c.Run(t.Context()); err == nil {
		t.Error("a second Run() = nil, want an error")
	}
}

func TestNilHandler(t *testing.T) {
	var out syncBuffer
	NewConn(strings.NewReader(ping(1)), &out, nil, nil).Run(t.Context())
	if got := codes([]string{strings.TrimSpace(out.String())}); got[0] != "1:-32601" {
		t.Errorf("answered %s, want -32601", out.String())
	}
}
