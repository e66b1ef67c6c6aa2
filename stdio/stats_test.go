package stdio

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/mcp/framing"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, testMethods.Handle, &Options{MaxLine: 100, Batches: true})
		in := ping(1) + "\n\n \r\n" + note("ping") + "\r\n" + "[" + ping(2) + "]\n" + pong(9) + "\n" + "?\n\xff\n5\n" + strings.Repeat("x", 101) + "\n" + wait(3, 10) + "\n" + `{"jsonrpc":`
		p.feed(in)
		p.end(nil)
		var out int
		for len(p.out) > 0 {
			out += len(<-p.out) + 1
		}
		s := p.conn.Stats()
		for _, test := range []struct {
			name      string
			got, want int64
		}{
			{"In.Lines", s.In.Lines, 10},
			{"In.Bytes", s.In.Bytes, int64(len(in))},
			{"In.Largest", int64(s.In.Largest), int64(len(wait(3, 10)))},
			{"requests in", s.In.Kinds[framing.Request], 2},
			{"notifications in", s.In.Kinds[framing.Notification], 1},
			{"responses in", s.In.Kinds[framing.Response], 1},
			{"batches in", s.In.Kinds[framing.Batch], 1},
			{"malformed in", s.In.Kinds[framing.Malformed], 4},
			{"invalid in", s.In.Kinds[framing.Invalid], 1},
			{"Syntax", s.Syntax, 1},
			{"InvalidUTF8", s.InvalidUTF8, 1},
			{"TooLong", s.TooLong, 1},
			{"Truncated", s.Truncated, 1},
			{"Answered", s.Answered, 8},
			{"Unmatched", s.Unmatched, 1},
			{"Abandoned", s.Abandoned, 0},
			{"Out.Lines", s.Out.Lines, 8},
			{"Out.Bytes", s.Out.Bytes, int64(out)},
			{"responses out", s.Out.Kinds[framing.Response], 7},
			{"batches out", s.Out.Kinds[framing.Batch], 1},
		} {
			if test.got != test.want {
				t.Errorf("%s = %d, want %d", test.name, test.got, test.want)
			}
		}
	})
}

// A request that is counted when the connection ends is counted as abandoned in the same moment, and not twice.
func TestStatsAddUpAtTheEnd(t *testing.T) {
	c := NewConn(strings.NewReader(ping(1)+"\n"), io.Discard, nil, nil)
	c.start(t.Context())
	m, err := c.reader.ReadMessage()
	if err != nil || !c.count(&m) {
		t.Fatalf("ReadMessage() = %v, or it is not counted", err)
	}
	c.end()
	for _, when := range []string{"before", "after"} {
		if s := c.Stats(); s.In.Kinds[framing.Request] != 1 || s.Abandoned != 1 {
			t.Errorf("Stats() has %d of %d requests abandoned %s it is handled, want 1 of 1", s.Abandoned, s.In.Kinds[framing.Request], when)
		}
		c.handle(&m)
	}
}

// The log tells what nobody else is told.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := &gate{}
		handle := Methods{"ping": g.handle, "panic": testMethods["panic"], "fail": testMethods["fail"]}
		p := serve(t, handle.Handle, &Options{MaxInFlight: 1, MaxQueued: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		p.send("?", `{"jsonrpc":"2.0","id":1,"method":"panic"}`, note("fail"))
		p.wantCodes("null:-32700", "1:-32603")
		p.silence()
		p.send(ping(1), ping(1), ping(2), note("n"), note("dropped"), ping(3))
		p.wantCodes("1:-32600", "3:-32000")
		g.release("1", "2")
		p.end(nil)
		for _, want := range []string{
			`level=WARN msg="bad line" kind=malformed bytes=1 err="` + framing.ErrSyntax.Error(),
			`level=ERROR msg="panic in a handler" method=panic panic=ouch stack="goroutine`,
			`level=WARN msg="notification failed" method=fail err="io: read/write on closed pipe"`,
			`level=WARN msg="request with an id that is in use" id=1 method=ping`,
			`level=WARN msg="notification dropped, the queue is full" method=dropped`,
			`level=WARN msg="request refused, the queue is full" method=ping`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, log.String())
			}
		}
	})
}
