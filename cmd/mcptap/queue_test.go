package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// drainQueue takes what there is and describes it.
func drainQueue(q *queue) (got []string) {
	events, _ := q.take()
	for _, e := range events {
		switch {
		case e.gap != nil:
			got = append(got, fmt.Sprintf("%s gap %+v", e.dir, *e.gap))
		case e.do != nil:
			got = append(got, "do")
		default:
			got = append(got, fmt.Sprintf("%s %d", e.dir, len(e.data)))
		}
	}
	return got
}

// TestQueueLimit: what fits exactly is kept, one byte more is a gap, and
// gaps add up until something of their direction fits again.
func TestQueueLimit(t *testing.T) {
	const in, out = observe.ToServer, observe.ToClient
	q := newQueue(2 * (eventBytes + 10))
	var at time.Time
	q.put(at, in, []byte("0123456789"))
	q.put(at, out, []byte("0123456789"))
	q.put(at, in, []byte("lost\n\n"))
	q.put(at, in, []byte("too"))
	q.put(at, out, []byte("\n"))
	q.do(func() {})
	want := []string{"to-server 10", "to-client 10", "to-server gap {Bytes:9 Newlines:2 Inside:true}", "to-client gap {Bytes:1 Newlines:1 Inside:false}", "do"}
	if got := drainQueue(q); !reflect.DeepEqual(got, want) {
		t.Fatalf("took %q, want %q", got, want)
	}
	q.put(at, in, []byte("x")) // what was taken is still in hand, and counts
	if got, want := drainQueue(q), []string{"to-server gap {Bytes:1 Newlines:0 Inside:true}"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("with the first batch in hand took %q, want %q", got, want)
	}
	q.put(at, in, []byte("0123456789"))
	if got, want := drainQueue(q), []string{"to-server 10"}; !reflect.DeepEqual(got, want) {
		t.Errorf("after it took %q, want %q", got, want)
	}
	q = newQueue(eventBytes + 9)
	q.put(at, in, []byte("0123456789"))
	if got := drainQueue(q); !strings.Contains(got[0], "gap") {
		t.Errorf("one byte over the limit took %q, want a gap", got)
	}
}

func TestQueueCopies(t *testing.T) {
	q := newQueue(queueBytes)
	chunk := []byte("abc")
	q.put(time.Time{}, observe.ToClient, chunk)
	chunk[0] = 'X'
	if events, _ := q.take(); string(events[0].data) != "abc" {
		t.Errorf("took %q, want what was put", events[0].data)
	}
}

func TestQueueClose(t *testing.T) {
	q := newQueue(queueBytes)
	q.put(time.Time{}, observe.ToClient, []byte("a"))
	q.close()
	q.close()
	q.put(time.Time{}, observe.ToClient, []byte("b"))
	if events, open := q.take(); len(events) != 1 || !open {
		t.Errorf("took %d events, open %t; want the one from before", len(events), open)
	}
	if events, open := q.take(); len(events) != 0 || open {
		t.Errorf("then %d events, open %t; want the end", len(events), open)
	}
}
