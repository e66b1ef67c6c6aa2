package main

import (
	"fmt"
	"slices"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/child"
	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/measure"
)

// pipeTable prints how fast the messages of a child process are read.
func pipeTable(c *config) error {
	const messages = 1_000_000
	var cs []measure.Contender
	counts := map[string]int{}
	for _, r := range slices.Concat(contend.Readers, contend.SDKs, contend.Floors) {
		if c.wants(r.Name) && r.GivesAll() {
			cs = append(cs, measure.Contender{Name: r.Name, Run: func() (err error) {
				counts[r.Name], err = child.Drain(r, messages, func(m *framing.Message) { sink = m.Kind })
				return err
			}})
		}
	}
	results, err := measure.Compare(cs, measure.Options{Rounds: min(c.Rounds, 3), Span: time.Nanosecond})
	if err != nil {
		return err
	}
	fmt.Println("\n### A child process that writes a million small messages into a pipe")
	fmt.Println("\n| contender | s | messages/s | allocs/message |\n|---|---:|---:|---:|")
	for _, r := range results {
		n := float64(counts[r.Name])
		fmt.Printf("| %s | %.2f | %.0f | %.2f |\n", r.Name, r.Time.Seconds(), n/r.Time.Seconds(), r.Allocs/n)
	}
	return nil
}
