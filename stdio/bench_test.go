package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// pipes returns the two ends of a connection over real pipes.
func pipes(b *testing.B) (server, client struct {
	in, out *os.File
}) {
	var err1, err2 error
	server.in, client.out, err1 = os.Pipe()
	client.in, server.out, err2 = os.Pipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return server, client
}

// BenchmarkPing is one round trip after the other, the server alone beside a client that does next to nothing.
func BenchmarkPing(b *testing.B) {
	line := ping(1) + "\n"
	roundTrips := func(b *testing.B, in, out *os.File) {
		r := bufio.NewReader(in)
		b.ReportAllocs()
		for b.Loop() {
			io.WriteString(out, line)
			if _, err := r.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
		out.Close()
	}
	b.Run("Conn", func(b *testing.B) {
		server, client := pipes(b)
		c := NewConn(server.in, server.out, testMethods.Handle, nil)
		go c.Run(b.Context())
		roundTrips(b, client.in, client.out)
	})
	b.Run("bufio", func(b *testing.B) {
		server, client := pipes(b)
		go func() {
			r := bufio.NewReader(server.in)
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				server.out.Write(line)
			}
		}()
		roundTrips(b, client.in, client.out)
	})
}

// BenchmarkCall is Call to a Conn over pipes: by one caller, by 64 at a time, and with a large result.
func BenchmarkCall(b *testing.B) {
	var writes atomic.Int64 // of both sides
	counted := func(w io.Writer) io.Writer {
		return writerFunc(func(p []byte) (int, error) {
			writes.Add(1)
			return w.Write(p)
		})
	}
	connect := func(b *testing.B, h Handler) *Conn {
		server, client := pipes(b)
		go NewConn(server.in, counted(server.out), h, nil).Run(b.Context())
		c := NewConn(client.in, counted(client.out), nil, nil)
		go c.Run(b.Context())
		b.Cleanup(func() { client.out.Close() })
		return c
	}
	b.Run("one", func(b *testing.B) {
		c := connect(b, testMethods.Handle)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Call(b.Context(), "ping", nil, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("64", func(b *testing.B) {
		c := connect(b, testMethods.Handle)
		b.ReportAllocs()
		b.SetParallelism(32)
		before := writes.Load()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := c.Call(b.Context(), "ping", nil, nil); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(writes.Load()-before)/float64(b.N), "writes/op")
	})
	b.Run("1MB", func(b *testing.B) {
		text := map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.Repeat("line of text\n", 1<<20/13)}}}
		c := connect(b, func(context.Context, *Request) (any, error) { return text, nil })
		b.SetBytes(1 << 20)
		b.ReportAllocs()
		var raw json.RawMessage
		for b.Loop() {
			if err := c.Call(b.Context(), "get", nil, &raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWaiting tells what 10,000 requests of 100 bytes cost that wait behind a slow one.
func BenchmarkWaiting(b *testing.B) {
	const n = 10_000
	var in strings.Builder
	for id := range n {
		line := ping(id)
		in.WriteString(line[:len(line)-1] + `,"params":{"x":"` + strings.Repeat("x", 100-len(line)-len(`,"params":{"x":""}`)) + "\"}}\n")
	}
	for b.Loop() {
		open, begun := make(chan struct{}), make(chan struct{}, n)
		r, w := io.Pipe()
		c := NewConn(r, io.Discard, func(context.Context, *Request) (any, error) {
			begun <- struct{}{}
			<-open
			return nil, nil
		}, &Options{MaxInFlight: 1, MaxQueued: n})
		run := make(chan error)
		go func() { run <- c.Run(b.Context()) }()
		io.WriteString(w, ping(-1)+"\n")
		<-begun
		before := heap()
		io.WriteString(w, in.String())
		for c.Stats().Queued < n {
			runtime.Gosched()
		}
		b.ReportMetric(float64(heap()-before)/n, "heap-B/request")
		close(open)
		w.Close()
		<-run
	}
}

// heap returns the bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
