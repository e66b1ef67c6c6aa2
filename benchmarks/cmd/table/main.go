// Table measures and prints the tables of the README in Markdown.
//
//	table [flags] [read] [write] [lines] [memory] [pipe] [peer] [tap]
//
// Without a name it prints every table.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"example.com/mcp/framing/benchmarks/child"
	"example.com/mcp/framing/benchmarks/measure"
)

// config is what the flags say.
type config struct {
	measure.Options
	classes []string
	orders  []string
	files   []string
	only    []string // substrings of contenders' names; empty: all
}

func (c *config) wants(name string) bool {
	return len(c.only) == 0 || slices.ContainsFunc(c.only, func(s string) bool { return strings.Contains(name, s) })
}

// tables lists the tables in the order of the README.
var tables = []struct {
	name  string
	print func(*config) error
}{
	{"read", readTable},
	{"write", writeTable},
	{"lines", linesTable},
	{"memory", memoryTable},
	{"pipe", pipeTable},
	{"peer", peerTable},
	{"tap", tapTable},
}

func main() {
	child.Main()
	c := flags()
	header()
	for _, t := range tables {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), t.name) {
			continue
		}
		if err := t.print(c); err != nil {
			fmt.Fprintf(os.Stderr, "table: %s: %v\n", t.name, err)
			os.Exit(1)
		}
	}
}

func flags() *config {
	var c config
	flag.IntVar(&c.Rounds, "rounds", 7, "rounds, of which the best counts")
	flag.DurationVar(&c.Span, "span", 50*time.Millisecond, "least time of one contender in one round")
	list(&c.classes, "class", "classes of traffic, with commas (default all)")
	list(&c.orders, "order", "id-first, id-last (default both)")
	list(&c.files, "files", "files of messages, one a line, in place of made traffic")
	list(&c.only, "only", "only contenders with one of these, with commas, in their names")
	flag.Usage = usage
	flag.Parse()
	for _, arg := range flag.Args() {
		if !strings.Contains(names(), arg) {
			fmt.Fprintf(os.Stderr, "table: no table %q; there are %s\n", arg, names())
			os.Exit(2)
		}
	}
	return &c
}

func usage() {
	fmt.Fprintf(flag.CommandLine.Output(), "usage: table [flags] [table…]\ntables: %s\n", names())
	flag.PrintDefaults()
}

func names() string {
	var all []string
	for _, t := range tables {
		all = append(all, t.name)
	}
	return strings.Join(all, " ")
}

func list(to *[]string, name, usage string) {
	flag.Func(name, usage, func(s string) error {
		*to = strings.Split(s, ",")
		return nil
	})
}

// header says where the numbers come from.
func header() {
	fmt.Printf("%s, %d cores, %s, %s/%s, %s. `go run ./cmd/table %s`\n", cpu(), runtime.NumCPU(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format("2006-01-02"), strings.Join(os.Args[1:], " "))
	fmt.Printf("Beside it: %s.\n", versions())
}

func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// versions names the modules of the contenders.
func versions() string {
	info, _ := debug.ReadBuildInfo()
	var vs []string
	for _, m := range info.Deps {
		if base := m.Path[strings.LastIndex(m.Path, "/")+1:]; slices.Contains([]string{"sonic", "go-json", "go-sdk", "mcp-go", "jrpc2"}, base) {
			vs = append(vs, base+" "+m.Version)
		}
	}
	return strings.Join(vs, ", ")
}
