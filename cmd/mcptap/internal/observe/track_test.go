package observe

import (
	"fmt"
	"testing"
	"time"
)

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
