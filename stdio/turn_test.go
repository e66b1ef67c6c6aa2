package stdio

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp/framing"
)

// lone runs a connection whose read loop runs the next lone request itself. Besides ping it knows where, which tells
// whether it runs in the read loop, and what is given.
func lone(t *testing.T, method string, h Handler) *peer {
	p := serve(t, Methods{
		"ping": func(context.Context, *Request) (any, error) { return nil, nil },
		"where": func(context.Context, *Request) (any, error) {
			return strings.Contains(string(debug.Stack()), "readLoop"), nil
		},
		method: h,
	}.Handle, nil)
	for id := range minPause {
		p.send(ping(id))
		p.want(pong(id))
		synctest.Wait() // or the next one may come while this one is not over
	}
	return p
}

func request(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`
}

func answer(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func TestLoneRequestRunsInTheReadLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lone(t, "unused", nil)
		p.send(request("1", "where"))
		p.want(answer("1", "true"))
		synctest.Wait()
		p.feed(request("2", "where") + "\n" + request("3", "where") + "\n")
		got := []string{p.next(), p.next()}
		if got[0] == answer("2", "true") || got[1] == answer("2", "true") {
			t.Errorf("got %q: a request ran in the read loop with another one behind it", got)
		}
		synctest.Wait()
		p.feed(request("4", "where") + "\n{")
		p.want(answer("4", "false"))
		synctest.Wait()
		p.feed(`"jsonrpc":"2.0","id":5,"method":"where"}` + "\n")
		p.want(answer("5", "true"))
		p.end(nil)
	})
}

func TestLoneRequestPassesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		p := lone(t, "slow", func(context.Context, *Request) (any, error) { <-hold; return 1, nil })
		p.send(request("1", "slow"))
		p.send(ping(2))
		p.want(pong(2))
		p.send(request("3", "where"))
		p.want(answer("3", "false"))
		p.send("not json")
		p.wantCodes("null:-32700")
		close(hold)
		p.want(answer("1", "1"))
		p.end(nil)
	})
}

// After a slow request the read loop keeps off for a while, and for twice as long if the next one that it runs is slow too.
func TestLoneRequestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lone(t, "slow", func(context.Context, *Request) (any, error) { time.Sleep(time.Second); return 1, nil })
		for _, pause := range []int{minPause, 2 * minPause, 4 * minPause} {
			p.send(request("1", "slow"))
			p.want(answer("1", "1"))
			for range pause {
				synctest.Wait()
				p.send(request("2", "where"))
				p.want(answer("2", "false"))
			}
			synctest.Wait()
		}
		for range 2 { // a quick one, and all is forgotten
			p.send(request("3", "where"))
			p.want(answer("3", "true"))
			synctest.Wait()
		}
		p.send(request("4", "slow"))
		p.want(answer("4", "1"))
		for range minPause {
			synctest.Wait()
			p.send(ping(5))
			p.want(pong(5))
		}
		synctest.Wait()
		p.send(request("6", "where"))
		p.want(answer("6", "true"))
		p.end(nil)
	})
}

func TestLoneRequestCallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lone(t, "asks", func(ctx context.Context, r *Request) (any, error) {
			var n int
			err := r.Conn.Call(ctx, "ask", nil, &n)
			return n, err
		})
		p.send(request("1", "asks"))
		p.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
		p.send(answer("1", "42"))
		p.want(answer("1", "42"))
		p.end(nil)
	})
}

func TestLoneRequestIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		p := lone(t, "waits", func(ctx context.Context, _ *Request) (any, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		p.send(request("1", "waits"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if err := <-ended; err != context.Canceled {
			t.Errorf("the request's context ended with %v, want %v", err, context.Canceled)
		}
		p.silence()
		p.end(nil)
	})
}

// A handler that panics or leaves its goroutine takes nothing with it.
func TestLoneRequestThatBreaksOff(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":                      func() { panic("x") },
		"Goexit":                     runtime.Goexit,
		"Goexit with the turn gone":  runtime.Goexit,
		"a panic with the turn gone": func() { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := strings.Contains(name, "gone")
				hold := make(chan struct{})
				p := lone(t, "leaves", func(context.Context, *Request) (any, error) {
					if gone {
						<-hold
					}
					leave()
					return nil, nil
				})
				p.send(request("1", "leaves"))
				if gone {
					p.send(ping(2))
					p.want(pong(2))
					close(hold)
				}
				p.wantCodes("1:-32603")
				for id := 3; id < 6; id++ {
					p.send(ping(id))
					p.want(pong(id))
				}
				p.end(nil)
			})
		})
	}
}

// An OnBadLine that leaves its goroutine, as t.FailNow does, does not end the reading.
func TestOnBadLineThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, &Options{OnBadLine: func(framing.Message) { runtime.Goexit() }})
		p.send("not json", ping(1), "nor this", ping(2))
		p.want(pong(1), pong(2))
		p.end(nil)
	})
}

// The end of the stream is seen while a lone request runs.
func TestLoneRequestAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		p := lone(t, "slow", func(context.Context, *Request) (any, error) { <-hold; return 1, nil })
		p.send(request("1", "slow"))
		p.in.Close()
		synctest.Wait()
		close(hold)
		p.want(answer("1", "1"))
		p.returns(nil)
	})
}
