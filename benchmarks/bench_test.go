package benchmarks

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"testing"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/child"
	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/peer"
	"example.com/mcp/framing/benchmarks/traffic"
)

func TestMain(m *testing.M) {
	child.Main()
	os.Exit(m.Run())
}

// sink keeps the compiler from leaving the work out.
var sink framing.Kind

// BenchmarkRead reads 1 MB or more of each class, in reads of 64 KB.
func BenchmarkRead(b *testing.B) {
	for _, c := range traffic.Classes {
		for _, o := range []traffic.Order{traffic.IDFirst, traffic.IDLast} {
			data := traffic.Generate(c, o, 1<<20)
			for _, r := range slices.Concat(contend.Readers, contend.SDKs, contend.Floors) {
				b.Run(fmt.Sprintf("%s/%s/%s", c, o, r.Name), func(b *testing.B) { benchmarkRead(b, r, data) })
			}
		}
	}
}

func benchmarkRead(b *testing.B, r contend.Reader, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		err := r.Read(contend.Chunks(data, contend.ReadSize), func(m *framing.Message) { sink = m.Kind })
		if err != nil {
			b.Fatal(err)
		}
	}
	messages := b.N * bytes.Count(data, []byte("\n"))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
}

// BenchmarkWrite writes one message to an io.Writer that costs nothing.
func BenchmarkWrite(b *testing.B) {
	for _, j := range contend.Jobs() {
		for _, w := range contend.Writers {
			b.Run(j.Name+"/"+w.Name, func(b *testing.B) {
				write := w.New(io.Discard)
				b.ReportAllocs()
				for b.Loop() {
					if err := write(&j); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLongLine reads one line of 1 MB and, where that ends, of 64 MB.
func BenchmarkLongLine(b *testing.B) {
	for _, size := range []int{1 << 20, 64 << 20} {
		line := append(traffic.Line(traffic.IDLast, size), '\n')
		for _, r := range contend.LongLines {
			if r.Quadratic && size > 1<<20 {
				continue
			}
			b.Run(fmt.Sprintf("%dMB/%s", size>>20, r.Name), func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				b.ReportAllocs()
				for b.Loop() {
					if err := r.Read(line); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPipe reads a million small messages of a child process.
func BenchmarkPipe(b *testing.B) {
	for _, r := range contend.Readers {
		b.Run(r.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := child.Drain(r, 1_000_000, func(m *framing.Message) { sink = m.Kind }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPeer calls a child process of the same make over pipes.
func BenchmarkPeer(b *testing.B) {
	for _, p := range peer.Peers {
		s, err := peer.Start(p)
		if err != nil {
			b.Fatal(err)
		}
		benchmarkPeer(b, "ping/"+p.Name, s.Ping)
		if !p.Bare {
			b.Run("ping64/"+p.Name, func(b *testing.B) { pingTogether(b, s) })
		}
		benchmarkPeer(b, "1MB/"+p.Name, func() error { _, err := s.Tool(); return err })
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}

func benchmarkPeer(b *testing.B, name string, call func() error) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// pingTogether spreads b.N pings over many callers.
func pingTogether(b *testing.B, s peer.Session) {
	b.SetParallelism((peer.Callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Ping(); err != nil {
				b.Error(err)
			}
		}
	})
}
