package main

import (
	"fmt"
	"io"
	"slices"
)

// junkLines is how many lines may wait to be printed to stderr. When it does
// not take them they are counted, for the traffic does not wait for it.
const junkLines = 256

// junkPrinter prints what a cleaner takes out of the stream.
type junkPrinter struct {
	w     io.Writer
	lines chan []byte
	lost  int
	done  chan struct{}
}

func newJunkPrinter(w io.Writer) *junkPrinter {
	j := &junkPrinter{w: w, lines: make(chan []byte, junkLines), done: make(chan struct{})}
	go func() {
		defer close(j.done)
		for line := range j.lines {
			w.Write(line)
		}
		if j.lost > 0 {
			fmt.Fprintf(w, "mcptap: and %d more lines that were not messages, which stderr did not take\n", j.lost)
		}
	}()
	return j
}

// print prints text, marked, or counts it. Only the cleaner's goroutine calls
// it.
func (j *junkPrinter) print(line int, text []byte) {
	text = text[:min(len(text), 64<<10)] // what waits is bounded in bytes as well
	marked := slices.Concat(fmt.Appendf(nil, "mcptap: not a message, stdout line %d: ", line), text, []byte("\n"))
	select {
	case j.lines <- marked:
	default:
		j.lost++
	}
}

// close lets the lines that wait be printed, which done tells.
func (j *junkPrinter) close() { close(j.lines) }
