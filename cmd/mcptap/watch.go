package main

import (
	"fmt"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/cmd/mcptap/internal/observe"
	"example.com/mcp/framing/cmd/mcptap/internal/show"
	"example.com/mcp/framing/cmd/mcptap/internal/store"
)

// watcher hands what the queue brings to the observer, the records and the
// printer. It is used by one goroutine.
type watcher struct {
	obs     *observe.Observer
	report  show.Printer   // to stderr
	log     *store.Log     // nil: none
	capture *store.Capture // nil: none
	verbose bool
	redact  bool
}

// openRecords creates the files that the flags ask for.
func (t *tap) openRecords() (err error) {
	if t.c.log != "" {
		if t.watch.log, err = store.OpenLog(t.c.log); err != nil {
			return fmt.Errorf("-log: %w", err)
		}
	}
	if t.c.capture != "" {
		if t.watch.capture, err = store.OpenCapture(t.c.capture, t.c.redact); err != nil {
			return fmt.Errorf("-capture: %w", err)
		}
	}
	return nil
}

func (w *watcher) start(at time.Time, command []string) {
	if w.redact && len(command) > 1 { // arguments may be secrets
		command = []string{command[0], fmt.Sprintf("(%d arguments)", len(command)-1)}
	}
	w.capture.Start(at, command)
	w.obs.Start(at, command)
}

func (w *watcher) chunk(at time.Time, d observe.Dir, data []byte) {
	w.capture.Chunk(at, d, data)
	w.obs.Chunk(at, d, data)
}

func (w *watcher) gap(at time.Time, d observe.Dir, g observe.Gap) {
	w.capture.Gap(at, d, g)
	w.obs.Gap(at, d, g)
}

func (w *watcher) eof(at time.Time, d observe.Dir) {
	w.capture.EOF(at, d)
	w.obs.EOF(at, d)
}

// end takes the server's end. A direction whose own end has not come ends
// with it.
func (w *watcher) end(at time.Time, end observe.End) {
	if n := len(end.Stderr); w.redact && n > 0 {
		end.Stderr = []string{fmt.Sprintf("(lines masked: %d)", n)}
	}
	w.obs.EOF(at, observe.ToServer)
	w.obs.EOF(at, observe.ToClient)
	w.capture.End(at, end)
	w.obs.End(at, end)
}

func (w *watcher) entry(e *observe.Entry) {
	w.log.Entry(e)
	if w.verbose {
		w.report.Entry(e)
	}
}

func (w *watcher) event(ev *observe.Event) {
	w.log.Event(ev)
	if w.verbose {
		w.report.Event(ev)
	}
}

func (w *watcher) summary(at time.Time, final bool) {
	w.report.Summary(w.obs.Summary(at, final))
	w.report.Flush()
}

// flush brings the records up to date; it is called whenever the queue is
// empty for the moment.
func (w *watcher) flush() {
	w.log.Flush()
	w.capture.Flush()
	if w.verbose {
		w.report.Flush()
	}
}

// close closes the records and reports the first error of writing them: it
// must not end the session, but the user should know.
func (w *watcher) close() {
	for name, err := range map[string]error{"-log": w.log.Close(), "-capture": w.capture.Close()} {
		if err != nil {
			w.report.Note(fmt.Sprintf("mcptap: %s is incomplete: %v", name, err))
		}
	}
	w.report.Flush()
}

// limit returns the line limit that n stands for, as framing has it.
func limit(n int) int {
	if n == 0 {
		return framing.DefaultMaxLine
	}
	return n
}
