package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/measure"
	"example.com/mcp/framing/benchmarks/traffic"
)

// source is traffic to read.
type source struct {
	name string
	data []byte
}

// readTable prints what reading costs, and the ratios.
func readTable(c *config) error {
	sources, err := c.sources()
	if err != nil {
		return err
	}
	fmt.Println("\n### Reading, from memory in reads of 64 KB")
	var summary strings.Builder
	for _, s := range sources {
		readers, results, err := c.read(s)
		if err != nil {
			return err
		}
		printRead(s, readers, results)
		summary.WriteString(ratioRow(s, readers, results))
	}
	fmt.Printf("\n| traffic | std / framing | fastest library / framing | fastest SDK / framing | framing / floor |\n|---|---|---|---|---|\n%s", &summary)
	fmt.Println("\nTimes, so 12 in the second column is twelve times faster. std: bufio.Scanner + json.Unmarshal; floor: memchr+copy+utf8.Valid.")
	return nil
}

// read checks the contenders and measures them on s.
func (c *config) read(s source) ([]contend.Reader, []measure.Result, error) {
	var readers []contend.Reader
	var cs []measure.Contender
	for _, r := range slices.Concat(contend.Readers, contend.SDKs, contend.Floors) {
		if !c.wants(r.Name) {
			continue
		}
		reference := contend.Readers[1]
		if r.Role == contend.Floor {
			reference = contend.Readers[0]
		}
		if err := contend.Check(r, reference, s.data); err != nil {
			return nil, nil, err
		}
		readers = append(readers, r)
		cs = append(cs, measure.Contender{Name: r.Name, Run: func() error { return consume(r, s.data) }})
	}
	results, err := measure.Compare(cs, c.Options)
	return readers, results, err
}

// sink keeps the compiler from leaving the work out.
var sink framing.Kind

func consume(r contend.Reader, data []byte) error {
	return r.Read(contend.Chunks(data, contend.ReadSize), func(m *framing.Message) { sink = m.Kind })
}

// sources returns the files of -files, or the traffic of -class and -order.
func (c *config) sources() ([]source, error) {
	var sources []source
	for _, name := range c.files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{filepath.Base(name), data})
	}
	if len(c.files) > 0 {
		return sources, nil
	}
	for _, class := range traffic.Classes {
		for _, order := range []traffic.Order{traffic.IDFirst, traffic.IDLast} {
			if matches(c.classes, string(class)) && matches(c.orders, string(order)) {
				sources = append(sources, source{fmt.Sprintf("%s, %s", class, order), traffic.Generate(class, order, dataSize(class))})
			}
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("no traffic in classes %v, orders %v", c.classes, c.orders)
	}
	return sources, nil
}

// dataSize is a few MB: more than the cache next to the core, and still some
// rounds a second for the slowest contender.
func dataSize(c traffic.Class) int {
	if c == traffic.Image || c == traffic.Text {
		return 16 << 20
	}
	return 4 << 20
}

func matches(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }

func printRead(s source, readers []contend.Reader, results []measure.Result) {
	lines := float64(bytes.Count(s.data, []byte("\n")))
	size := float64(len(s.data))
	fmt.Printf("\n**%s** (%.0f lines, %.0f B a line)\n\n", s.name, lines, size/lines)
	fmt.Println("| contender | MB/s | ns/message | spread | allocs/message | B allocated/B |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for i, r := range results {
		ns := float64(r.Time.Nanoseconds())
		fmt.Printf("| %s%s | %.0f | %.0f | %+.0f %% | %.2f | %.2f |\n", readers[i].Name, floorMark(readers[i]), size/ns*1e3, ns/lines,
			spread(r), r.Allocs/lines, r.Bytes/size)
	}
}

func floorMark(r contend.Reader) string {
	if r.Role == contend.Floor {
		return " (floor)"
	}
	return ""
}

// ratioRow compares the first contender of each role; of the libraries the
// fastest one.
func ratioRow(s source, readers []contend.Reader, results []measure.Result) string {
	var ours, std, library, sdk, floor float64
	for i, r := range readers {
		ns := float64(results[i].Time)
		switch {
		case r.Role == contend.Ours && ours == 0:
			ours = ns
		case r.Role == contend.Standard && std == 0:
			std = ns
		case r.Role == contend.Library && (library == 0 || ns < library):
			library = ns
		case r.Role == contend.SDK && (sdk == 0 || ns < sdk):
			sdk = ns
		case r.Role == contend.Floor:
			floor = ns // the last one does most
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", s.name, ratio(std, ours), ratio(library, ours), ratio(sdk, ours), ratio(ours, floor))
}

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}
