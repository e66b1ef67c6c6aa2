package main

import (
	"fmt"
	"io"
	"strings"

	"example.com/mcp/framing/benchmarks/contend"
	"example.com/mcp/framing/benchmarks/measure"
)

// writeTable prints what writing costs: each job by each contender.
func writeTable(c *config) error {
	fmt.Println("\n### Writing, to an io.Writer that costs nothing")
	var summary strings.Builder
	for _, j := range contend.Jobs() {
		results, err := c.write(&j)
		if err != nil {
			return err
		}
		fmt.Printf("\n**%s**\n\n| contender | ns/message | spread | allocs/message | B/message |\n|---|---:|---:|---:|---:|\n", j.Name)
		for _, r := range results {
			fmt.Printf("| %s | %s | %+.0f %% | %.2f | %.0f |\n", r.Name, nanoseconds(r), spread(r), r.Allocs/batch, r.Bytes/batch)
		}
		summary.WriteString(writeRow(&j, results))
	}
	fmt.Printf("\n| message | json.Encoder / AppendEncode | fastest library / AppendEncode | json.Encoder / framing.Writer | allocs, AppendEncode |\n|---|---|---|---|---|\n%s", &summary)
	return nil
}

// batch is how often a job is written in one run: one would be lost in the
// resolution of the clock.
const batch = 100

func (c *config) write(j *contend.Job) ([]measure.Result, error) {
	var cs []measure.Contender
	for _, w := range contend.Writers {
		if !c.wants(w.Name) {
			continue
		}
		if err := contend.CheckWriter(w, j); err != nil {
			return nil, err
		}
		write := w.New(io.Discard)
		cs = append(cs, measure.Contender{Name: w.Name, Run: func() error {
			for range batch {
				if err := write(j); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return measure.Compare(cs, c.Options)
}

func writeRow(j *contend.Job, results []measure.Result) string {
	time := map[string]float64{}
	allocs, library := 0.0, 0.0
	for _, r := range results {
		ns := float64(r.Time)
		time[r.Name] = ns
		switch r.Name {
		case "framing.AppendEncode":
			allocs = r.Allocs / batch
		case "goccy/go-json", "sonic":
			if library == 0 || ns < library {
				library = ns
			}
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.2f |\n", j.Name, ratio(time["json.Encoder"], time["framing.AppendEncode"]),
		ratio(library, time["framing.AppendEncode"]), ratio(time["json.Encoder"], time["framing.Writer"]), allocs)
}

func nanoseconds(r measure.Result) string { return fmt.Sprintf("%.0f", float64(r.Time)/batch) }

// spread is how much longer than the best round the median round took, in
// percent.
func spread(r measure.Result) float64 { return 100 * (float64(r.Median)/float64(r.Time) - 1) }
