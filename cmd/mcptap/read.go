package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
	"example.com/mcp/framing/cmd/mcptap/internal/show"
	"example.com/mcp/framing/cmd/mcptap/internal/store"
)

// readSize is how much of a file or of a stream is read at once. A pipe holds
// 64 KiB on Linux, so a larger buffer would stay empty.
const readSize = 64 << 10

// maxErrorWidth is how much of an error is printed, in columns: a few paths.
const maxErrorWidth = 10_000

// read prints the files, or stdin. It returns the exit status.
func read(c config, std streams) int {
	r := reading{c: c, p: show.New(std.out, c.json, wantsColour(std.out))}
	err := r.all(std.in)
	if ferr := r.p.Flush(); err == nil {
		err = ferr
	}
	if err != nil {
		fmt.Fprintf(std.err, "mcptap: %s\n", observe.Printable([]byte(err.Error()), maxErrorWidth)) // a capture names its files
		return exitUsage
	}
	return r.status
}

// reading prints what files hold.
type reading struct {
	c      config
	p      show.Printer
	status int // 1 once a line was bad
}

func (r *reading) all(stdin io.Reader) error {
	if len(r.c.files) == 0 {
		return r.stream(stdin, "stdin")
	}
	for _, name := range r.c.files {
		if err := r.file(name); err != nil {
			return err
		}
	}
	return nil
}

// file prints one file, or all captures of a folder.
func (r *reading) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		if _, lookErr := exec.LookPath(name); lookErr == nil {
			return commandError(name)
		}
		return err
	}
	defer f.Close()
	if len(r.c.files) > 1 {
		r.p.File(name)
	}
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		return errors.Join(err, r.stream(f, name))
	}
	names, err := store.Captures(name)
	for _, reads := range names {
		if err == nil {
			err = r.capture(reads)
		}
	}
	return err
}

// commandError says what is missing from "mcptap npx my-server".
func commandError(name string) error {
	return fmt.Errorf("%s is a command: to run it, put -- before it", name)
}

// stream prints what a stream holds, whatever its format.
func (r *reading) stream(in io.Reader, name string) error {
	b := bufio.NewReaderSize(in, readSize)
	switch store.Sniff(b) {
	case store.IsLog:
		return r.log(b, name)
	case store.IsReads:
		if name == "stdin" {
			return errors.New("a capture has several files: name its folder instead")
		}
		return r.capture(name)
	case store.IsProgram:
		return commandError(name)
	}
	return r.plain(b)
}

// plain prints messages of which nobody knows who wrote them.
func (r *reading) plain(in io.Reader) error {
	o := r.observer()
	buf := make([]byte, readSize)
	var err error
	for err == nil {
		var n int
		n, err = in.Read(buf)
		o.Chunk(time.Time{}, observe.Unknown, buf[:n])
		if ferr := r.p.Flush(); ferr != nil {
			return ferr // nobody reads what we print
		}
	}
	o.EOF(time.Time{}, observe.Unknown)
	r.summary(o.Summary(time.Time{}, true))
	if err != io.EOF {
		return err
	}
	return nil
}

func (r *reading) observer() *observe.Observer {
	o := observe.NewObserver(r.c.maxLine, r.c.redact)
	o.OnEntry = r.p.Entry
	return o
}

func (r *reading) summary(s observe.Summary) {
	r.p.Summary(s)
	for _, st := range s.Streams {
		if st.BadLines() > 0 {
			r.status = exitBadLines
		}
	}
}

// capture prints the capture whose reads.ndjson is name.
func (r *reading) capture(name string) error {
	o := r.observer()
	over := false
	o.OnEvent = func(ev *observe.Event) {
		over = over || ev.Name == observe.EventEnd
		r.p.Event(ev)
	}
	err := store.ReadCapture(name, o)
	r.endless(over)
	r.summary(o.Summary(time.Time{}, over))
	return err
}

// endless says that a session's record has no end, if it has none: what is
// open in it may still be answered.
func (r *reading) endless(over bool) {
	if !over {
		r.p.Note("-- no end is recorded: the session goes on, or mcptap was killed")
	}
}

// log prints a log. Several processes may have appended to it, one after the
// other or at once.
func (r *reading) log(in io.Reader, name string) error {
	l := logReading{r: r, sessions: map[int]*observe.Tracker{}}
	err := store.ReadLog(in, l.record)
	for _, pid := range l.order { // they are running, or were killed
		if t := l.sessions[pid]; t != nil {
			l.end(pid, t, false)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// logReading follows the sessions of a log.
type logReading struct {
	r        *reading
	sessions map[int]*observe.Tracker // by process
	order    []int
	last     int // the process of the record before
}

func (l *logReading) record(pid int, e *observe.Entry, ev *observe.Event) {
	t := l.session(pid, ev)
	if e != nil {
		t.Add(e)
		l.r.p.Entry(e)
		return
	}
	t.Event(ev)
	l.r.p.Event(ev)
	if ev.Name == observe.EventEnd {
		l.end(pid, t, true)
	}
}

// session returns the tracker of pid's session, a new one for a new start.
func (l *logReading) session(pid int, ev *observe.Event) *observe.Tracker {
	t := l.sessions[pid]
	if t != nil && ev != nil && ev.Name == observe.EventStart { // the process id came round again
		l.end(pid, t, false)
		t = nil
	}
	if t == nil {
		t = observe.NewTracker()
		l.sessions[pid] = t
		l.order = append(l.order, pid)
	}
	if l.last != 0 && l.last != pid && len(l.sessions) > 1 {
		l.r.p.Note(fmt.Sprintf("-- process %d:", pid))
	}
	l.last = pid
	return t
}

func (l *logReading) end(pid int, t *observe.Tracker, final bool) {
	l.r.endless(final)
	l.r.summary(t.Summary(time.Time{}, final))
	delete(l.sessions, pid)
}
