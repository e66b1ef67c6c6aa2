package measure

import (
	"errors"
	"testing"
	"time"
)

var sink []byte

func TestCompare(t *testing.T) {
	order := ""
	allocate := func() error { order += "a"; sink = make([]byte, 1<<20); return nil }
	idle := func() error { order += "i"; return nil }
	results, err := Compare([]Contender{{"allocate", allocate}, {"idle", idle}}, Options{Rounds: 2, Span: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if order != "aiai" {
		t.Errorf("Compare ran %s, want aiai", order)
	}
	if r := results[0]; r.Name != "allocate" || r.Allocs < 1 || r.Bytes < 1<<20 || r.Time <= 0 || r.Median < r.Time {
		t.Errorf("Compare gave %+v for one allocation of 1 MiB", r)
	}
	if r := results[1]; r.Name != "idle" || r.Bytes >= 1<<20 {
		t.Errorf("Compare gave %+v for no allocation", r)
	}
}

func TestCompareError(t *testing.T) {
	bad := errors.New("bad")
	_, err := Compare([]Contender{{"c", func() error { return bad }}}, Options{Rounds: 1})
	if !errors.Is(err, bad) {
		t.Errorf("Compare gave %v, want %v", err, bad)
	}
}
