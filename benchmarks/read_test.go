package benchmarks

import (
	"fmt"
	"testing"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/traffic"
)

// sink keeps the compiler from leaving the work out.
var sink framing.Kind

// BenchmarkRead reads 1 MB or more of each class, in reads of 64 KB. The time is
// per message, so that classes compare.
func BenchmarkRead(b *testing.B) {
	for _, c := range traffic.Classes {
		for _, o := range []traffic.Order{traffic.IDFirst, traffic.IDLast} {
			data := traffic.Generate(c, o, 1<<20)
			for _, r := range append(contend.Readers[:len(contend.Readers):len(contend.Readers)], contend.Floors...) {
				b.Run(fmt.Sprintf("%s/%s/%s", c, o, r.Name), func(b *testing.B) { benchmarkRead(b, r, data) })
			}
		}
	}
}

func benchmarkRead(b *testing.B, r contend.Reader, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	messages := 0
	for b.Loop() {
		err := r.Read(contend.Chunks(data, contend.ReadSize), func(m *framing.Message) {
			sink = m.Kind
			messages++
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
}
