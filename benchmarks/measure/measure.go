// Package measure times contenders against each other on a noisy machine: it
// runs them in turn, round after round, so that all see the same weather, and
// keeps the best round of each, the one that was disturbed least.
package measure

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Contender is something to time. Run does the work once.
type Contender struct {
	Name string
	Run  func() error
}

// Result is what one Run of a contender costs.
type Result struct {
	Name   string
	Time   time.Duration // of the best round
	Median time.Duration // over the rounds
	Allocs float64
	Bytes  float64 // allocated
}

// Options say how long to measure.
type Options struct {
	Rounds int           // 0: 7
	Span   time.Duration // least length of a round for one contender; 0: 50 ms
}

// Compare runs the contenders in turn and returns their results in the order
// of cs. Each round begins with an empty heap and repeats Run for at least
// o.Span, so that the collector's work is part of the time.
func Compare(cs []Contender, o Options) ([]Result, error) {
	if o.Rounds == 0 {
		o.Rounds = 7
	}
	if o.Span == 0 {
		o.Span = 50 * time.Millisecond
	}
	results := make([]Result, len(cs))
	times := make([][]time.Duration, len(cs))
	for range o.Rounds {
		for i, c := range cs {
			r, err := round(c, o.Span)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			times[i] = append(times[i], r.Time)
			results[i] = r
		}
	}
	for i := range results {
		slices.Sort(times[i])
		results[i].Time, results[i].Median = times[i][0], times[i][o.Rounds/2]
	}
	return results, nil
}

func round(c Contender, span time.Duration) (Result, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, runs, took := time.Now(), 0, time.Duration(0)
	for runs == 0 || took < span {
		if err := c.Run(); err != nil {
			return Result{}, err
		}
		runs++
		took = time.Since(start)
	}
	runtime.ReadMemStats(&after)
	n := float64(runs)
	return Result{
		Name:   c.Name,
		Time:   took / time.Duration(runs),
		Allocs: float64(after.Mallocs-before.Mallocs) / n,
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, nil
}
