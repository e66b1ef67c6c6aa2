package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/measure"
	"example.com/mcp/framing/benchmarks/traffic"
)

const (
	kb = 1 << 10
	mb = 1 << 20
)

// linesTable prints what a byte of a long line costs, by its length and by how
// it is cut.
func linesTable(c *config) error {
	fmt.Println("\n### Long lines: nanoseconds a byte")
	fmt.Print("\n| line |")
	for _, r := range contend.LongLines {
		fmt.Printf(" %s |", r.Name)
	}
	fmt.Println("\n|---|---:|---:|---:|---:|---:|")
	for _, size := range []int{64 * kb, mb, 16 * mb, 64 * mb} {
		line := append(traffic.Line(traffic.IDLast, size), '\n')
		var cs []measure.Contender
		for _, r := range contend.LongLines {
			if size <= mb || !r.Quadratic {
				cs = append(cs, measure.Contender{Name: r.Name, Run: func() error { return r.Read(line) }})
			}
		}
		results, err := measure.Compare(cs, measure.Options{Rounds: c.Rounds, Span: time.Millisecond})
		if err != nil {
			return err
		}
		fmt.Printf("| %s |", sizeName(size))
		for _, r := range results {
			fmt.Printf(" %.3f |", float64(r.Time)/float64(size))
		}
		if size > mb {
			fmt.Print(" grows with the length |")
		}
		fmt.Println()
	}
	fmt.Println("\nbufio.Scanner looks at the whole pending line again at each read.")
	return nil
}

// memoryTable prints what a line costs in memory: allocated on the way, held
// while the message is, and held by a reader that waits for the next line.
func memoryTable(*config) error {
	fmt.Println("\n### Memory of one line, in bytes a byte of line")
	fmt.Println("\n| line | allocated | held with the message | held by the reader after | allocated, 16-byte feeds | allocated, bufio.Scanner + json.Unmarshal |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for _, size := range []int{100 * kb, mb, mb + 1, 2*mb - 1, 64 * mb} {
		line := append(traffic.Line(traffic.IDLast, size), '\n')
		allocated, held, left, err := memory(line)
		fed, errFed := allocatedBy(func() error { return contend.Feed(line, 16) })
		scanned, errScan := allocatedBy(func() error { return contend.Scan(contend.Chunks(line, 64*kb)) })
		if err := errors.Join(err, errFed, errScan); err != nil {
			return err
		}
		per := func(n int64) float64 { return float64(n) / float64(size) }
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", sizeName(size), per(allocated), per(held), per(left), per(fed), per(scanned))
	}
	return nil
}

// memory reads one line in reads of 64 KB, through a Reader that then waits.
func memory(line []byte) (allocated, held, left int64, err error) {
	before := heap()
	in := framing.NewReader(io.MultiReader(contend.Chunks(line, 64*kb), neverEnds{}))
	m, err := in.ReadMessage()
	after := heap()
	allocated = int64(after.TotalAlloc - before.TotalAlloc)
	held = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if err == nil {
		err = m.Err
	}
	runtime.KeepAlive(m)
	m = framing.Message{}
	left = int64(heap().HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(in)
	return allocated, held, left, err
}

// neverEnds keeps a Reader from seeing the end of the stream.
type neverEnds struct{}

func (neverEnds) Read([]byte) (int, error) { return 0, nil }

func allocatedBy(f func() error) (int64, error) {
	before := heap()
	err := f()
	return int64(heap().TotalAlloc - before.TotalAlloc), err
}

// heap returns the statistics after two collections: the first leaves what
// pools hold.
func heap() (s runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s
}

func sizeName(size int) string {
	switch {
	case size%mb == 0:
		return fmt.Sprintf("%d MB", size/mb)
	case size == mb+1:
		return "1 MB + 1"
	case size == 2*mb-1:
		return "2 MB - 1"
	}
	return fmt.Sprintf("%d KB", size/kb)
}
