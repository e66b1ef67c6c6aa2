package observe

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var at0 = time.Unix(1_800_000_000, 0)

// TestGapSilencesPairing: what may have gone by unseen is no finding, but
// that something did is one.
func TestGapSilencesPairing(t *testing.T) {
	o := NewObserver(0, false)
	now := time.Unix(1_800_000_000, 0)
	o.Chunk(now, ToServer, []byte(ping1+"\n"))
	o.Gap(now, ToClient, Gap{Bytes: 9})
	o.Gap(now, ToServer, Gap{Bytes: 9})
	o.Chunk(now, ToClient, []byte(`{"jsonrpc":"2.0","id":2,"result":{}}`+"\n"))
	for _, f := range o.Summary(now, true).Findings {
		if f.Code != Unseen {
			t.Errorf("finding %s, want only %s: %+v", f.Code, Unseen, f)
		}
	}
}

// TestPairingIsBounded: a peer that asks for ever costs no more than the
// limits say, and what goes by uncounted is no finding.
func TestPairingIsBounded(t *testing.T) {
	tr := NewTracker()
	for i := range maxOpen + 10 {
		tr.Add(&Entry{Dir: ToServer, Line: i, Item: Item{Kind: "request", ID: fmt.Appendf(nil, "%d", i), Method: fmt.Sprint("m", i)}})
	}
	for i := range maxOpen + 10 {
		tr.Add(&Entry{Dir: ToClient, Line: i, Item: Item{Kind: "response", ID: fmt.Appendf(nil, "%d", i)}})
	}
	h := tr.halves[ToServer]
	if len(h.names) > maxMethods+1 || len(h.done) > maxDone || h.count != 0 {
		t.Errorf("%d methods, %d ended, %d open; want at most %d, %d and none", len(h.names), len(h.done), h.count, maxMethods+1, maxDone)
	}
	if s := tr.Summary(time.Time{}, true); len(s.Findings) > 0 {
		t.Errorf("findings %+v, want none", s.Findings)
	}
}

// TestOpenInOrder: of requests that came at once the first is named first,
// also in one batch.
func TestOpenInOrder(t *testing.T) {
	tr := NewTracker()
	e := &Entry{Dir: ToServer, Line: 1, Item: Item{Kind: "batch"}}
	for i := range 50 {
		e.Items = append(e.Items, Item{Kind: "request", ID: fmt.Appendf(nil, "%d", i), Method: "m"})
	}
	tr.Add(e)
	for i, o := range tr.Summary(time.Time{}, false).InFlight {
		if string(o.ID) != fmt.Sprint(i) {
			t.Fatalf("open request %d has id %s, want them in order", i, o.ID)
		}
	}
}

// TestServerEndsSubscription: it does so with the client's id, perhaps while a
// request of its own has the same one.
func TestServerEndsSubscription(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	o := NewObserver(0, false)
	o.Chunk(at0, ToServer, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`+"\n"))
	o.Chunk(at0, ToClient, []byte(ping1+"\n"))
	for _, want := range []int{1, 0, 0} {
		o.Chunk(at0, ToClient, []byte(cancel))
		if s := o.Summary(at0, false); s.Open != want || len(s.Findings) > 0 {
			t.Errorf("%d in flight, findings %v; want %d and none", s.Open, s.Findings, want)
		}
	}
}

// TestBrokenAnswer: who never got an answer learns which line may have been it.
func TestBrokenAnswer(t *testing.T) {
	o := NewObserver(0, false)
	o.Chunk(at0, ToServer, []byte(ping1+"\n"))
	o.Chunk(at0.Add(1), ToClient, []byte("ready\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n"))
	o.Chunk(at0.Add(2), ToServer, []byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n"))
	fs := o.Summary(at0.Add(2), true).Findings
	last := fs[len(fs)-1]
	if last.Code != NeverAnswered || last.Count != 2 || !strings.HasSuffix(last.Occurrences[0].Text, "; perhaps the broken server line 2 was its answer") ||
		strings.Contains(last.Occurrences[1].Text, "perhaps") {
		t.Errorf("finding %+v, want the first to name line 2, and the second, asked later, nothing", last)
	}
}

// TestNothingWritten: a server that wrote nothing may hold its answer in a
// buffer; one that wrote something does not.
func TestNothingWritten(t *testing.T) {
	for wrote, want := range map[string]bool{"": true, "\n": false, "half": false, `{"jsonrpc":"2.0","method":"n"}` + "\n": false} {
		o := NewObserver(0, false)
		o.Chunk(at0, ToServer, []byte(ping1+"\n"))
		o.Chunk(at0, ToClient, []byte(wrote))
		fs := o.Summary(at0, true).Findings
		if got := len(fs) == 1 && strings.Contains(fs[0].Occurrences[0].Text, "does it flush"); got != want {
			t.Errorf("%q: findings %+v, want a word on flushing: %t", wrote, fs, want)
		}
	}
}

// TestCancelledAfter: what a host waited for in vain is no finding, but how
// long it waited is told.
func TestCancelledAfter(t *testing.T) {
	o := NewObserver(0, false)
	at := time.Unix(1_800_000_000, 0)
	for id, wait := range []time.Duration{time.Second, time.Minute, 2 * time.Second} {
		o.Chunk(at, ToServer, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`+"\n", id))
		at = at.Add(wait)
		o.Chunk(at, ToServer, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id))
	}
	s := o.Summary(at, true)
	if m := s.Methods[0]; m.Cancelled != 3 || m.Waited != 60_000 || len(s.Findings) > 0 {
		t.Errorf("%d cancelled after %v, findings %v; want 3, a minute, none", m.Cancelled, m.Waited, s.Findings)
	}
}

// TestLargeBatches: what is in a batch beyond the limit is counted, and no
// finding is made of what it may have asked or answered.
func TestLargeBatches(t *testing.T) {
	batch := func(n int, member string) []byte {
		var elems []string
		for i := range n {
			elems = append(elems, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, member))
		}
		return []byte("[" + strings.Join(elems, ",") + "]\n")
	}
	for n, more := range map[int]int{maxItems: 0, maxItems + 1: 1} {
		o := NewObserver(0, false)
		o.OnEntry = func(e *Entry) {
			if len(e.Items) != maxItems || e.MoreItems != more {
				t.Errorf("%d elements: %d kept and %d more, want %d and %d", n, len(e.Items), e.MoreItems, maxItems, more)
			}
		}
		o.Chunk(at0, ToServer, batch(n, `"method":"ping"`))
		o.Chunk(at0, ToClient, batch(n, `"result":{}`))
		if s := o.Summary(at0, true); len(s.Findings) > 0 || s.Open > 0 {
			t.Errorf("%d elements: findings %+v, %d open; want none", n, s.Findings, s.Open)
		}
	}
}

// TestHeldLinesAreReleased: bad lines that looked like pieces of one message
// and were not are findings of their own, in mid-session as well.
func TestHeldLinesAreReleased(t *testing.T) {
	o := NewObserver(0, false)
	check := func(when string, n int) {
		t.Helper()
		count := 0
		for _, f := range o.Summary(at0, false).Findings {
			count += f.Count
		}
		if count != n {
			t.Errorf("%s: %d faults, want %d", when, count, n)
		}
	}
	o.Chunk(at0, ToClient, []byte("{\n\"a\":\n"))
	check("while the two lines may still become a message", 2)
	o.Chunk(at0, ToClient, []byte(ping1+"\n"))
	check("when they have not", 2)
	o.Chunk(at0, ToClient, []byte("{\n\"a\":\n1}\n"))
	check("when three others have", 3)
}

// TestSpread: of many answers the extremes are exact, and the middle is that
// of a sample.
func TestSpread(t *testing.T) {
	var m Method
	const n = 20 * maxSamples
	for i := range n {
		m.sample(time.Duration(i) * time.Millisecond)
	}
	s := m.spread()
	if len(m.samples) != maxSamples || s.Min != 0 || s.Max != n-1 {
		t.Errorf("%d samples, %+v; want %d, from 0 to %d", len(m.samples), s, maxSamples, n-1)
	}
	// The sample's median is off by more than 10 %, six standard deviations, once in 500 million runs.
	if s.Median < 0.4*n || s.Median > 0.6*n || s.P95 < 0.9*n || s.P95 > n {
		t.Errorf("%+v, want the median near %d and 95 %% below %d", s, n/2, n*95/100)
	}
}

// TestSpreadOfFew: nearest rank, as one counts by hand.
func TestSpreadOfFew(t *testing.T) {
	for n, want := range map[int]Spread{
		1: {Min: 1, Median: 1, P95: 1, Max: 1}, 2: {Min: 1, Median: 1, P95: 2, Max: 2},
		3: {Min: 1, Median: 2, P95: 3, Max: 3}, 20: {Min: 1, Median: 10, P95: 19, Max: 20}, 100: {Min: 1, Median: 50, P95: 95, Max: 100},
	} {
		var m Method
		for i := range n {
			m.sample(time.Duration(n-i) * time.Millisecond)
		}
		if got := *m.spread(); got != want {
			t.Errorf("1 to %d ms: %+v, want %+v", n, got, want)
		}
	}
}

// TestNotFlushed: a server that buffers its stdout is told from one that is
// slow, and from requests that were piped in.
func TestNotFlushed(t *testing.T) {
	for _, test := range []struct {
		name   string
		before string // from the server
		wait   time.Duration
		want   int
	}{
		{"buffered", "", flushWait, 1},
		{"piped in", "", flushWait - 1, 0},
		{"slow", `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n", time.Hour, 0},
	} {
		o := NewObserver(0, false)
		o.Chunk(at0, ToServer, []byte(ping1+"\n"))
		o.Chunk(at0, ToClient, []byte(test.before))
		o.EOF(at0.Add(test.wait), ToServer)
		o.Chunk(at0.Add(test.wait), ToClient, []byte(pong1+"\n"))
		fs := o.Summary(at0, true).Findings
		if len(fs) != test.want || test.want > 0 && fs[0].Code != NotFlushed {
			t.Errorf("%s: findings %+v, want %d", test.name, fs, test.want)
		}
	}
}

// TestCleanSessions plays sessions in which both sides do all that is allowed,
// in any order, and recounts them: there is no finding, and nothing is lost.
func TestCleanSessions(t *testing.T) {
	for seed := range uint64(100) {
		p := player{r: rand.New(rand.NewPCG(seed, 1)), o: NewObserver(0, false), at: at0, want: map[string][3]int{}}
		p.play(400)
		s := p.o.Summary(p.at, false)
		got := map[string][3]int{}
		for _, m := range s.Methods {
			got[fmt.Sprint(m.Dir, m.Name)] = [3]int{m.Calls, m.Errors, m.Cancelled}
		}
		if len(s.Findings) > 0 || s.Open != len(p.open[1])+len(p.open[2]) || !maps.Equal(got, p.want) {
			t.Fatalf("seed %d: findings %+v, %d open, methods %v; want none, %d, %v", seed, s.Findings, s.Open, got, len(p.open[1])+len(p.open[2]), p.want)
		}
	}
}

// A player plays both sides of a session.
type player struct {
	r    *rand.Rand
	o    *Observer
	at   time.Time
	open [3][]asked        // by the direction of the requests
	last [3][3]int         // the highest id used, of each sort
	want map[string][3]int // by direction and method: calls, errors, cancelled
	rest [3]string         // written, and not yet read
}

type asked struct{ id, method string }

func (p *player) play(steps int) {
	for range steps {
		p.at = p.at.Add(time.Duration(p.r.IntN(1000)) * time.Microsecond)
		d := Dir(1 + p.r.IntN(2))
		switch p.r.IntN(8) {
		case 0:
			p.write(d, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"requestId":1}}`)
		case 1, 2:
			p.write(d, p.ask(d))
		case 3:
			p.write(d, "["+p.ask(d)+","+p.ask(d)+"]")
		case 4, 5, 6:
			p.write(d.Back(), p.answer(d))
		case 7:
			p.write(d, p.cancel(d))
		}
	}
	for _, d := range []Dir{ToServer, ToClient} {
		p.o.Chunk(p.at, d, []byte(p.rest[d]))
	}
}

// ask makes a request with a new id: a number, such a number as a string, or
// one of those that are all the same as a double.
func (p *player) ask(d Dir) string {
	sort := p.r.IntN(3)
	p.last[d][sort]++
	n := p.last[d][sort]
	id := []string{fmt.Sprint(n), fmt.Sprintf(`"%d"`, n), fmt.Sprint(1<<60 + int64(n))}[sort]
	a := asked{id, []string{"ping", "tools/call", "m\u00e9"}[p.r.IntN(3)]}
	p.open[d] = append(p.open[d], a)
	p.count(d, a, 0)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, a.id, a.method)
}

// answer answers a request of direction d, if one is open.
func (p *player) answer(d Dir) string {
	a, ok := p.take(d)
	switch {
	case !ok:
		return ""
	case p.r.IntN(3) == 0:
		p.count(d, a, 1)
		return fmt.Sprintf(`{"error":{"code":-32603,"message":"x"},"jsonrpc":"2.0","id":%s}`, a.id)
	}
	return fmt.Sprintf(`{"result":{"id":1,"method":"x"},"jsonrpc":"2.0","id":%s}`, a.id)
}

func (p *player) cancel(d Dir) string {
	a, ok := p.take(d)
	if !ok {
		return ""
	}
	p.count(d, a, 2)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, a.id)
}

func (p *player) take(d Dir) (a asked, ok bool) {
	if len(p.open[d]) == 0 {
		return a, false
	}
	i := p.r.IntN(len(p.open[d]))
	a = p.open[d][i]
	p.open[d] = slices.Delete(p.open[d], i, i+1)
	return a, true
}

func (p *player) count(d Dir, a asked, what int) {
	key := fmt.Sprint(d, a.method)
	n := p.want[key]
	n[what]++
	p.want[key] = n
}

// write puts a line on its way. All of it is read at once, or but for the last
// bytes: a request is whole before it is answered.
func (p *player) write(d Dir, line string) {
	if line == "" {
		return
	}
	p.rest[d.Back()], p.rest[d] = p.flush(d.Back()), p.rest[d]+line+[]string{"\n", "\r\n", "\n\n"}[p.r.IntN(3)]
	for len(p.rest[d]) > 0 && p.r.IntN(4) > 0 {
		n := 1 + p.r.IntN(len(p.rest[d]))
		p.o.Chunk(p.at, d, []byte(p.rest[d][:n]))
		p.rest[d] = p.rest[d][n:]
	}
}

// flush has what was written in direction d read.
func (p *player) flush(d Dir) string {
	p.o.Chunk(p.at, d, []byte(p.rest[d]))
	return ""
}
