package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/mcp/framing"
)

// nilPanics is an error whose text cannot be had.
type nilPanics struct{ s *string }

func (e nilPanics) Error() string { return *e.s }

// unwrapPanics is an error that is fatal to package errors when it is nil, as one in a field that is not set is.
type unwrapPanics struct{ err error }

func (e *unwrapPanics) Error() string { return e.err.Error() }
func (e *unwrapPanics) Unwrap() error { return e.err }

type marshalPanics struct{}

func (marshalPanics) MarshalJSON() ([]byte, error) { panic("ouch") }

func TestAnswers(t *testing.T) {
	long := strings.Repeat("x", 2000)
	const busyID = `{"jsonrpc":"2.0","id":9,"method":"block"}`
	tests := []struct {
		name string
		line string
		want string // id and code, or the whole line; "": nothing
	}{
		{"result", ping(1), pong(1)},
		{"string id as it came", `{"jsonrpc":"2.0","id":"a\u0000\u00e9","method":"ping"}`, `{"jsonrpc":"2.0","id":"a\u0000\u00e9","result":{}}`},
		{"big id as it came", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`},
		{"minus zero as it came", `{"jsonrpc":"2.0","id":-0,"method":"ping"}`, `{"jsonrpc":"2.0","id":-0,"result":{}}`},
		{"params as they came", `{"jsonrpc":"2.0","id":1,"method":"echo","params":[1.50,"\ud800"]}`, `{"jsonrpc":"2.0","id":1,"result":[1.50,"\ud800"]}`},
		{"nil result", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, pong(1)},
		{"nil map as result", `{"jsonrpc":"2.0","id":1,"method":"no map"}`, pong(1)},
		{"nil pointer as result", `{"jsonrpc":"2.0","id":1,"method":"no pointer"}`, pong(1)},
		{"null as it is", `{"jsonrpc":"2.0","id":1,"method":"null"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},

		{"own error", `{"jsonrpc":"2.0","id":1,"method":"own"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"mine","data":[1]}}`},
		{"own error wrapped", `{"jsonrpc":"2.0","id":1,"method":"wrapped"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"mine","data":[1]}}`},
		{"own error without data", `{"jsonrpc":"2.0","id":1,"method":"bare"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":""}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: nope"}}`},
		{"bad params by Bind", `{"jsonrpc":"2.0","id":1,"method":"wait","params":{"ms":"soon"}}`, "1:-32602"},
		{"bad params by sentinel", `{"jsonrpc":"2.0","id":1,"method":"params"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}`},
		{"other error", `{"jsonrpc":"2.0","id":1,"method":"fail"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"*errors.errorString","message":"io: read/write on closed pipe"}}}`},
		{"panic", `{"jsonrpc":"2.0","id":1,"method":"panic"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"string","message":"ouch"}}}`},
		{"panic of the runtime", `{"jsonrpc":"2.0","id":1,"method":"nil map"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"runtime.plainError","message":"assignment to entry in nil map"}}}`},
		{"Goexit", `{"jsonrpc":"2.0","id":1,"method":"exit"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"*errors.errorString","message":"the handler has ended its goroutine"}}}`},
		{"error without a text", `{"jsonrpc":"2.0","id":1,"method":"no text"}`, "1:-32603"},
		{"typed nil error", `{"jsonrpc":"2.0","id":1,"method":"nil error"}`, "1:-32603"},
		{"error whose Unwrap panics", `{"jsonrpc":"2.0","id":1,"method":"bad unwrap"}`, "1:-32603"},
		{"invalid params without a text", `{"jsonrpc":"2.0","id":1,"method":"params, no text"}`, "1:-32603"},
		{"result whose MarshalJSON panics", `{"jsonrpc":"2.0","id":1,"method":"bad result"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"string","message":"ouch"}}}`},
		{"error data whose MarshalJSON panics", `{"jsonrpc":"2.0","id":1,"method":"bad data"}`, "1:-32603"},
		{"panic with a map that holds itself", `{"jsonrpc":"2.0","id":1,"method":"endless"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"map[string]interface {}","message":"a map[string]interface {}"}}}`},
		{"panic with an error", `{"jsonrpc":"2.0","id":1,"method":"panic error"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"exception":"*errors.errorString","message":"stdio: connection closed"}}}`},
		{"result that is no JSON", `{"jsonrpc":"2.0","id":1,"method":"nan"}`, "1:-32603"},
		{"error data that is no JSON", `{"jsonrpc":"2.0","id":1,"method":"nan data"}`, "1:-32603"},

		{"not JSON", `not json`, "null:-32700"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null:-32700"},
		{"method of another type", `{"jsonrpc":"2.0","id":5,"method":5}`, "5:-32600"},
		{"no method", `{"jsonrpc":"2.0","id":5}`, "5:-32600"},
		{"no version", `{"id":"5","method":"ping"}`, `"5":-32600`},
		{"params of another type", `{"jsonrpc":"2.0","id":5,"method":"ping","params":5}`, "5:-32600"},
		{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5:-32600"},
		{"id beyond a float", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, "1e400:-32600"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null:-32600"},
		{"id of another type", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null:-32600"},
		{"method twice", `{"jsonrpc":"2.0","id":5,"method":"ping","method":"pong"}`, "5:-32600"},
		{"a number", `17`, "null:-32600"},
		{"array", `[1,2]`, "null:-32600"},
		{"empty array", `[]`, "null:-32600"},
		{"method and result", `{"jsonrpc":"2.0","id":5,"method":"ping","result":1}`, "5:-32600"},
		{"method of another type and result", `{"jsonrpc":"2.0","id":5,"method":5,"result":1}`, "5:-32600"},

		{"notification", `{"jsonrpc":"2.0","method":"ping"}`, ""},
		{"notification unknown", `{"jsonrpc":"2.0","method":"nonsense"}`, ""},
		{"notification failed", `{"jsonrpc":"2.0","method":"fail"}`, ""},
		{"notification panicked", `{"jsonrpc":"2.0","method":"panic"}`, ""},
		{"response nobody asked for", `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{"error nobody asked for", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, ""},
		{"error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, ""},
		{"response without version", `{"id":1,"result":{}}`, ""},
		{"response with both", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, ""},
		{"response with null result", `{"id":1,"result":null}`, ""},
		{"error that is a string", `{"jsonrpc":"2.0","id":1,"error":"boom"}`, ""},
		{"error with an escaped name", `{"jsonrpc":"2.0","id":1,"err\u006fr":"boom"}`, ""},
		{"error below the top", `{"jsonrpc":"2.0","id":1,"x":{"error":"boom"}}`, "1:-32600"},

		{"too long, id first", `{"jsonrpc":"2.0","id":5,"method":"ping","params":["` + long + `"]}`, "5:-32600"},
		{"too long, id last", `{"method":"ping","params":["` + long + `"],"jsonrpc":"2.0","id":"z"}`, `"z":-32600`},
		{"too long, notification", `{"jsonrpc":"2.0","method":"ping","params":["` + long + `"]}`, ""},
		{"too long, result", `{"jsonrpc":"2.0","id":5,"result":["` + long + `"]}`, ""},
		{"too long, error", `{"error":{"code":1,"message":"` + long + `"},"id":5}`, ""},
		{"too long, neither", `{"jsonrpc":"2.0","id":5,"x":"` + long + `"}`, "null:-32700"},
		{"too long, text", long, "null:-32700"},

		{"id in hand", busyID, "9:-32600"},
	}
	methods := Methods{
		"own": func(context.Context, *Request) (any, error) { return nil, &Error{-7, "mine", []int{1}} },
		"wrapped": func(context.Context, *Request) (any, error) {
			return nil, fmt.Errorf("w: %w", &Error{-7, "mine", []int{1}})
		},
		"no map":     func(context.Context, *Request) (any, error) { return map[string]any(nil), nil },
		"no pointer": func(context.Context, *Request) (any, error) { return (*Error)(nil), nil },
		"null":       func(context.Context, *Request) (any, error) { return json.RawMessage("null"), nil },
		"bad unwrap": func(context.Context, *Request) (any, error) { return nil, (*unwrapPanics)(nil) },
		"params, no text": func(context.Context, *Request) (any, error) {
			return nil, errors.Join(ErrInvalidParams, nilPanics{})
		},
		"bad result":  func(context.Context, *Request) (any, error) { return marshalPanics{}, nil },
		"bad data":    func(context.Context, *Request) (any, error) { return nil, &Error{1, "m", marshalPanics{}} },
		"panic error": func(context.Context, *Request) (any, error) { panic(ErrClosed) },
		"endless": func(context.Context, *Request) (any, error) {
			m := map[string]any{}
			m["m"] = m
			panic(m)
		},
		"bare":      func(context.Context, *Request) (any, error) { return nil, &Error{} },
		"params":    func(context.Context, *Request) (any, error) { return nil, ErrInvalidParams },
		"nil map":   func(context.Context, *Request) (any, error) { var m map[int]int; m[0] = 1; return nil, nil },
		"exit":      func(context.Context, *Request) (any, error) { runtime.Goexit(); return nil, nil },
		"no text":   func(context.Context, *Request) (any, error) { return nil, nilPanics{} },
		"nil error": func(context.Context, *Request) (any, error) { return nil, (*Error)(nil) },
		"nan":       func(context.Context, *Request) (any, error) { return math.NaN(), nil },
		"nan data":  func(context.Context, *Request) (any, error) { return nil, &Error{1, "m", math.NaN()} },
	}
	for name, h := range testMethods {
		methods[name] = h
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				methods["block"] = func(context.Context, *Request) (any, error) { <-open; return nil, nil }
				p := serve(t, methods.Handle, &Options{MaxLine: 1000})
				p.send(busyID, test.line)
				switch {
				case test.want == "":
				case test.want[0] == '{':
					p.want(test.want)
				default:
					p.wantCodes(test.want)
				}
				p.silence()
				close(open)
				p.want(pong(9)) // the first one goes on unharmed
				p.send(ping(10))
				p.want(pong(10)) // and the loop too
				p.end(nil)
			})
		})
	}
}

// The reason of a bad line is told to who sent it.
func TestAnswersExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		for _, test := range []struct{ line, want string }{
			{`{"jsonrpc":"2.0","id":1,}`, "Parse error: "},
			{`{"id":1,"method":"ping"}`, "Invalid Request: "},
			{`{"jsonrpc":"2.0","id":1,"method":"wait","params":[]}`, "Invalid params: json: "},
		} {
			p.send(test.line)
			if got := p.next(); !strings.Contains(got, `"message":"`+test.want) {
				t.Errorf("answer to %s is %s, want a message with %q and more", test.line, got, test.want)
			}
		}
		p.end(nil)
	})
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad []framing.Kind
		p := serve(t, testMethods.Handle, &Options{Quiet: true, MaxLine: 100, OnBadLine: func(m framing.Message) { bad = append(bad, m.Kind) }})
		p.send("not json", `{"id":1,"method":"ping"}`, `[1]`, `{"jsonrpc":"2.0","id":1,"result":1}`,
			`{"jsonrpc":"2.0","id":5,"method":"ping","params":["`+strings.Repeat("x", 100)+`"]}`)
		p.silence()
		p.send(ping(1), `{"jsonrpc":"2.0","id":1,"method":"nope"}`)
		p.wantCodes("1", "1:-32601") // requests are answered all the same
		p.end(nil)
		want := []framing.Kind{framing.Malformed, framing.Invalid, framing.Batch, framing.Response, framing.Malformed}
		if fmt.Sprint(bad) != fmt.Sprint(want) {
			t.Errorf("OnBadLine got %v, want %v", bad, want)
		}
	})
}

func TestBadRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, nil)
		for range 2 {
			for range maxBadRow {
				p.send("?")
				p.wantCodes("null:-32700")
			}
			p.send("?", `{"jsonrpc":"2.0","id":1}`, "[]")
			p.silence()
			p.send(ping(1)) // a good one starts the count again
			p.want(pong(1))
		}
		p.end(nil)
	})
}

func TestBatches(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"ping"}`
	tests := []struct {
		name string
		line string
		want []string // in any order; nil: nothing
	}{
		{"requests", "[" + ping(1) + "," + ping(2) + "]", []string{"1", "2"}},
		{"one request", "[" + ping(1) + "]", []string{"1"}},
		{"mixed", "[" + ping(1) + "," + note + `,7,{"jsonrpc":"2.0","id":3},[` + ping(4) + "]," + wait(5, 50) + "," + ping(6) + `,{"jsonrpc":"2.0","id":7,"method":"nope"}]`,
			[]string{"1", "null:-32600", "3:-32600", "null:-32600", "5", "6", "7:-32601"}},
		{"all notifications", "[" + note + "," + note + "]", nil},
		{"responses", `[{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":3,"error":"e"}]`, nil},
		{"id twice", "[" + wait(1, 5) + "," + ping(1) + "]", []string{"1:-32600", "1"}},
		{"all bad", `[1,"",null]`, []string{"null:-32600", "null:-32600", "null:-32600"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, testMethods.Handle, &Options{Batches: true})
				p.send(test.line)
				if test.want != nil {
					wantBatch(t, p.next(), test.want)
				}
				p.silence()
				p.end(nil)
				if s := p.conn.Stats(); s.Answered != int64(len(test.want)) || s.Abandoned != 0 {
					t.Errorf("Stats() has %d answered, %d abandoned, want %d and 0", s.Answered, s.Abandoned, len(test.want))
				}
			})
		})
	}
	t.Run("empty", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, testMethods.Handle, &Options{Batches: true})
			p.send("[]")
			p.wantCodes("null:-32600")
			p.end(nil)
		})
	})
	t.Run("cancelled in it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, testMethods.Handle, &Options{Batches: true})
			p.send("["+wait(1, 1e6)+","+ping(2)+"]", cancel("1"))
			wantBatch(t, p.next(), []string{"2"})
			p.send("["+wait(3, 1e6)+"]", cancel("3"))
			p.silence()
			p.end(nil)
		})
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, testMethods.Handle, &Options{Batches: true, MaxInFlight: 1})
			p.send(wait(0, 10), "["+wait(1, 1e6)+","+ping(2)+"]", cancel("1"))
			p.wantCodes("0")
			wantBatch(t, p.next(), []string{"2"})
			p.end(nil)
		})
	})
	t.Run("bad elements count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, testMethods.Handle, &Options{Batches: true})
			p.send("[1" + strings.Repeat(",1", 1e5) + "]") // 100 bytes of answer for 2 of line
			if got := strings.Count(p.next(), "-32600"); got != maxBadRow {
				t.Errorf("%d elements answered, want %d", got, maxBadRow)
			}
			p.end(nil)
		})
	})
}

func wantBatch(t *testing.T, line string, want []string) {
	t.Helper()
	feed := framing.LineReader{}
	ms := feed.Feed([]byte(line + "\n"))
	if len(ms) != 1 || ms[0].Kind != framing.Batch {
		t.Fatalf("got %s, want a batch", line)
	}
	var elems []string
	for e := range ms[0].Batch() {
		elems = append(elems, string(e.Line))
	}
	wantSame(t, codes(elems), want)
}

// wantSame wants got to be want in any order.
func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	left := map[string]int{}
	for _, s := range want {
		left[s]++
	}
	for _, s := range got {
		left[s]--
	}
	for s, n := range left {
		if n != 0 {
			t.Fatalf("got %q, want %q: %q is off by %d", got, want, s, -n)
		}
	}
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

func TestErrorIs(t *testing.T) {
	for _, test := range []struct {
		err    error
		target error
		want   bool
	}{
		{&Error{Code: CodeMethodNotFound}, ErrMethodNotFound, true},
		{&Error{Code: CodeInvalidParams}, ErrInvalidParams, true},
		{&Error{Code: CodeInvalidParams}, ErrMethodNotFound, false},
		{&Error{Code: CodeInternalError}, ErrInvalidParams, false},
		{(*Error)(nil), ErrInvalidParams, false},
	} {
		if got := errors.Is(test.err, test.target); got != test.want {
			t.Errorf("errors.Is(%#v, %v) = %v, want %v", test.err, test.target, got, test.want)
		}
	}
}
