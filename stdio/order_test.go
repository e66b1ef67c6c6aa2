package stdio

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a handler that tells when a request starts and holds it until the test lets it go.
type gate struct {
	mu    sync.Mutex
	began []string // "name" of the params
	open  map[string]chan struct{}
}

func (g *gate) channel(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

func (g *gate) handle(ctx context.Context, r *Request) (any, error) {
	name := string(r.ID)
	if r.ID == nil {
		name = r.Method
	}
	g.mu.Lock()
	g.began = append(g.began, name)
	g.mu.Unlock()
	select {
	case <-g.channel(name):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// started wants exactly these to have started, in this order.
func (g *gate) started(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(g.began, want) {
		t.Fatalf("started %q, want %q", g.began, want)
	}
}

func (g *gate) release(names ...string) {
	for _, name := range names {
		close(g.channel(name))
	}
}

func note(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method) }

func TestOrderSlowDoesNotHoldUpFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		p := serve(t, g.handle, nil)
		p.send(ping(1), ping(2), ping(3))
		synctest.Wait()
		g.release("3", "1", "2")
		wantSame(t, codes([]string{p.next(), p.next(), p.next()}), []string{"1", "2", "3"})
		p.end(nil)
	})
}

// With one goroutine of the scheduler the order in which requests are taken up is the order in which handlers begin.
func TestOrderOfArrival(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		p := serve(t, g.handle, nil)
		var lines, ids []string
		for id := range 50 {
			lines, ids = append(lines, ping(id)), append(ids, fmt.Sprint(id))
		}
		p.feed(strings.Join(lines, "\n") + "\n")
		g.started(t, ids...)
		g.release(ids...)
		p.end(nil)
	})
}

func TestOrderOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		p := serve(t, g.handle, &Options{MaxInFlight: 1})
		p.send(ping(1), ping(2), ping(3))
		g.started(t, "1")
		if s := p.conn.Stats(); s.InFlight != 1 || s.Queued != 2 {
			t.Errorf("Stats() has %d in flight, %d queued, want 1, 2", s.InFlight, s.Queued)
		}
		g.release("1")
		g.started(t, "1", "2")
		g.release("2", "3")
		p.want(pong(1), pong(2), pong(3))
		p.end(nil)
	})
}

func TestOrderFences(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	for _, test := range []struct{ name, line, began string }{
		{"notification", note("n"), "n"},
		{"initialize", initialize, "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{}
				p := serve(t, g.handle, nil)
				p.send(ping(1), test.line, note("behind"), ping(2), ping(3))
				g.started(t, "1", test.began) // it does not wait for what has started before it
				g.release(test.began)
				g.started(t, "1", test.began, "behind")
				g.release("behind", "1", "2", "3")
				synctest.Wait()
				if len(g.began) != 5 {
					t.Fatalf("started %q, want all five", g.began)
				}
				p.end(nil)
			})
		})
	}
}

// What stands behind initialize finds its answer written.
func TestOrderInitializeAnsweredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			if r.Method == "initialize" {
				time.Sleep(time.Second)
			}
			return nil, nil
		}, nil)
		p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, ping(1), ping(2))
		p.wantCodes("0")
		wantSame(t, codes([]string{p.next(), p.next()}), []string{"1", "2"})
		p.end(nil)
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		p := serve(t, g.handle, &Options{MaxInFlight: 2, MaxQueued: 3})
		p.send(ping(1), ping(2), ping(3), ping(4), note("n"))
		p.silence() // two run, three wait: just full
		p.send(ping(6), note("lost"))
		p.wantCodes("6:-32000")
		p.send(cancel("4")) // what is taken back leaves its place
		p.send(ping(7))
		p.silence()
		g.started(t, "1", "2")
		if s := p.conn.Stats(); s.Refused != 1 || s.Dropped != 1 || s.Cancelled != 1 || s.Queued != 3 {
			t.Errorf("Stats() = %+v, want one refused, dropped and cancelled, three queued", s)
		}
		g.release("1", "2", "3", "n", "7")
		wantSame(t, codes([]string{p.next(), p.next(), p.next(), p.next()}), []string{"1", "2", "3", "7"})
		p.end(nil)
	})
}

func TestQueueNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		p := serve(t, g.handle, &Options{MaxInFlight: 1, MaxQueued: -1})
		p.send(ping(1), ping(2))
		p.wantCodes("2:-32000")
		g.release("1")
		p.want(pong(1))
		p.end(nil)
	})
}

// Few long lines must not fill the memory while they wait.
func TestQueueBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		long := func(id int) string {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":[""]}`, id)
			return strings.Replace(line, `""`, `"`+strings.Repeat("x", 1000-len(line))+`"`, 1)
		}
		p := serve(t, g.handle, &Options{MaxLine: 1000, MaxInFlight: 1})
		p.send(ping(0), long(1), long(2), long(3), long(4))
		p.silence() // four lines of the greatest length wait
		p.send(ping(5))
		p.wantCodes("5:-32000")
		g.release("0", "1", "2", "3", "4")
		p.wantCodes("0", "1", "2", "3", "4")
		p.end(nil)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			<-ctx.Done()
			ended = append(ended, string(r.ID)+":"+ctx.Err().Error())
			return nil, nil
		}, nil)
		p.send(wait(1, 0), `{"jsonrpc":"2.0","id":"two","method":"m"}`)
		p.send(cancel("7"), cancel("null"), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`)
		p.silence() // nobody meant
		p.send(cancel("1"))
		p.silence()
		p.send(cancel("1"), `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"two"}}`)
		p.silence()
		if want := []string{"1:context canceled", `"two":context canceled`}; !slices.Equal(ended, want) {
			t.Errorf("contexts ended: %q, want %q", ended, want)
		}
		p.end(nil)
		if s := p.conn.Stats(); s.Cancelled != 2 || s.Abandoned != 0 {
			t.Errorf("Stats() has %d cancelled, %d abandoned, want 2, 0", s.Cancelled, s.Abandoned)
		}
	})
}

func TestCancelFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		p.send(ping(1))
		p.want(pong(1))
		p.send(cancel("1"), ping(1)) // and the id is free again
		p.want(pong(1))
		p.end(nil)
	})
}

// A cancelled request keeps its id as long as its handler runs.
func TestCancelStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		p := serve(t, func(context.Context, *Request) (any, error) { <-open; return nil, nil }, nil)
		p.send(ping(1), cancel("1"), ping(1))
		p.wantCodes("1:-32600")
		close(open)
		p.silence()
		p.end(nil)
	})
}

// What a handler leaves running learns from its context that the request is over.
func TestContextEndsWithHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan error, 1)
		p := serve(t, func(ctx context.Context, r *Request) (any, error) {
			go func() { <-ctx.Done(); left <- ctx.Err() }()
			return nil, nil
		}, nil)
		p.send(ping(1))
		p.want(pong(1))
		if err := <-left; err != context.Canceled {
			t.Errorf("the context ended with %v, want %v", err, context.Canceled)
		}
		p.end(nil)
	})
}

func TestRequestContext(t *testing.T) {
	type key struct{}
	parent, stop := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	t.Run("ends once made", func(t *testing.T) {
		x := &requestContext{parent: parent}
		if x.Err() != nil || x.Value(key{}) != "v" {
			t.Fatal("a fresh context has ended or has no values")
		}
		child, cancel := context.WithTimeout(x, time.Hour)
		defer cancel()
		x.end()
		<-x.Done()
		<-child.Done()
		if x.Err() != context.Canceled || x.Value(key{}) != "v" || context.Cause(x) != context.Canceled {
			t.Fatalf("Err() = %v, want %v", x.Err(), context.Canceled)
		}
	})
	t.Run("made once ended", func(t *testing.T) {
		x := &requestContext{parent: parent}
		x.end()
		if x.Err() != context.Canceled || context.Cause(x) != context.Canceled {
			t.Fatalf("Err() = %v, want %v", x.Err(), context.Canceled)
		}
		<-x.Done()
	})
	t.Run("ends with its parent", func(t *testing.T) {
		x := &requestContext{parent: parent}
		y := &requestContext{parent: parent}
		y.Done()
		stop()
		<-y.Done()
		if x.Err() != context.Canceled || y.Err() != context.Canceled {
			t.Fatalf("Err() = %v, %v, want %v", x.Err(), y.Err(), context.Canceled)
		}
		if _, ok := x.Deadline(); ok {
			t.Fatal("Deadline() reports one, the parent has none")
		}
	})
}
