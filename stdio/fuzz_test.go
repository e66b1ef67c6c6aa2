package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing"
)

// chunked gives its text in pieces whose lengths are those of cuts, again and again.
type chunked struct {
	text []byte
	cuts []byte
	i    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := len(c.text)
	if len(c.cuts) > 0 {
		n = min(n, 1+int(c.cuts[c.i%len(c.cuts)]))
		c.i++
	}
	n = copy(p, c.text[:n])
	c.text = c.text[n:]
	return n, nil
}

// FuzzServer feeds any bytes, cut in any way, to a server. It never panics or blocks, every line that it writes is a
// message, and every good request with an id of its own is answered exactly once.
func FuzzServer(f *testing.F) {
	seeds := []string{
		ping(1) + "\n" + `{"jsonrpc":` + "\n" + ping(2) + "\n" + `{"jsonrpc":"2.0","id":"x","method":7}` + "\n",
		ping(1) + "\n" + ping(1) + "\n" + cancel("1") + "\n" + note("n"),
		"[" + ping(1) + "," + note("n") + ",7," + ping(2) + `,{"jsonrpc":"2.0","id":3,"result":1}]` + "\n[]\n",
		`{"jsonrpc":"2.0","id":1.5,"method":"m"}` + "\n" + `{"jsonrpc":"2.0","id":"\ud800","method":"panic"}` + "\n",
		`{"method":"m","params":["` + strings.Repeat("x", 600) + `"],"jsonrpc":"2.0","id":3}` + "\r\n\xff\n\n",
		`{"jsonrpc":"2.0","id":1,"method":"call"}` + "\n" + pong(1) + "\n" + `{"id":1,"error":"e"}`,
		"Content-Length: 40\r\n\r\n" + ping(4) + "\n\ufeff" + ping(5) + "\nNaN\n",
	}
	for _, s := range seeds {
		f.Add([]byte(s), []byte{3, 0, 40}, false)
		f.Add([]byte(s), []byte{}, true)
	}
	f.Fuzz(func(t *testing.T, in, cuts []byte, batches bool) {
		opt := &Options{MaxLine: 500, Batches: batches, DrainTimeout: time.Hour} // what blocks, hangs
		var out syncBuffer
		c := NewConn(&chunked{text: bytes.Clone(in), cuts: cuts}, &out, fuzzMethods.Handle, opt)
		if len(in)%2 == 0 {
			c.others = 0 // half of all run lone requests in the read loop from the first on
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("Run() = %v, want nil", err)
		}
		got := answeredIDs(t, out.String())
		for id := range freshIDs(in, opt) {
			if got[id] != 1 {
				t.Errorf("request %s was answered %d times, want once\nin  %q\nout %s", id, got[id], in, out.String())
			}
		}
		if s := c.Stats(); s.Abandoned != 0 || s.InFlight != 0 || s.Queued != 0 || s.Calls != 0 {
			t.Errorf("Stats() = %+v at the end, want nothing left", s)
		}
	})
}

var fuzzMethods = Methods{
	"ping":  testMethods["ping"],
	"echo":  testMethods["echo"],
	"panic": testMethods["panic"],
	"call": func(ctx context.Context, r *Request) (any, error) {
		var got json.RawMessage
		err := r.Conn.Call(ctx, "back", nil, &got)
		return got, err
	},
	"notify": func(ctx context.Context, r *Request) (any, error) {
		return nil, r.Conn.Notify(ctx, "n", r.Params)
	},
}

// freshIDs returns the ids of the good requests in the stream that have an id which nothing else in it mentions, so that
// it can be neither in hand twice, nor cancelled, nor in an answer to a bad line.
func freshIDs(in []byte, opt *Options) map[string]bool {
	r := framing.LineReader{MaxLine: opt.MaxLine}
	ms := r.Feed(in)
	if m, ok := r.Flush(); ok {
		ms = append(ms, m)
	}
	all, count := map[string]bool{}, map[string]int{}
	cancels := false
	see := func(m framing.Message) {
		count[string(m.ID)]++
		switch m.Kind {
		case framing.Request:
			all[string(m.ID)] = true
		case framing.Notification:
			cancels = cancels || strings.Contains(strings.ToLower(m.Method), "cancel")
		}
	}
	for _, m := range ms {
		if m.Kind == framing.Batch && opt.Batches {
			for e := range m.Batch() {
				see(e)
			}
		} else {
			see(m)
		}
	}
	for id := range all {
		if count[id] > 1 || cancels {
			delete(all, id)
		}
	}
	return all
}

// answeredIDs returns how many responses there are for each id, and wants nothing but messages.
func answeredIDs(t *testing.T, out string) map[string]int {
	got := map[string]int{}
	var check func(m framing.Message, inBatch bool)
	check = func(m framing.Message, inBatch bool) {
		switch {
		case m.Kind == framing.Response:
			got[string(m.ID)]++
		case m.Kind == framing.Batch && !inBatch:
			for e := range m.Batch() {
				check(e, true)
			}
		case m.Kind == framing.Request || m.Kind == framing.Notification:
			if inBatch {
				t.Errorf("a %v in a batch of answers: %s", m.Kind, out)
			}
		default:
			// The id of a broken request goes back as it came, also one that is no legal id.
			var o struct {
				ID    json.Number `json:"id"`
				Error *Error      `json:"error"`
			}
			if json.Unmarshal(m.Line, &o) != nil || o.Error == nil || o.Error.Code != CodeInvalidRequest {
				t.Errorf("wrote %s: %v", m.Line, m.Err)
			}
		}
	}
	r := framing.LineReader{MaxLine: -1}
	for _, m := range r.Feed([]byte(out)) {
		check(m, false)
	}
	if n := r.Buffered(); n > 0 {
		t.Errorf("%d bytes without a newline at the end of %q", n, out)
	}
	return got
}
