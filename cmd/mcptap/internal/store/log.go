// Package store writes what mcptap records, and reads it back: a log of
// lines, and a capture of the raw bytes. Files are created with mode 0600.
//
// A nil *Log or *Capture may be written to and keeps nothing.
package store

import (
	"bytes"
	"encoding/json"
	"os"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// flushBytes is how much may gather before it is written.
const flushBytes = 64 << 10

// Log appends records to a file: one JSON object for each line and event of a
// session. Each has the process id, for two sessions may append at once;
// whole records go out in one write.
type Log struct {
	f   *os.File
	buf bytes.Buffer
	enc *json.Encoder
	pid int
	err error // the first one; then nothing more is written
}

// record is a line of the log.
type record struct {
	PID int `json:"pid"`
	*observe.Entry
}

type eventRecord struct {
	PID int `json:"pid"`
	*observe.Event
}

// OpenLog opens the log file name, which is created if there is none. If its
// last record was cut off, by a full disk say, the next one begins a new line.
func OpenLog(name string) (*Log, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{f: f, pid: os.Getpid()}
	if endsInside(f) {
		l.buf.WriteByte('\n')
	}
	l.enc = json.NewEncoder(&l.buf)
	l.enc.SetEscapeHTML(false)
	return l, nil
}

// Entry records one line.
func (l *Log) Entry(e *observe.Entry) {
	if l != nil {
		l.put(record{l.pid, e})
	}
}

// Event records what happened besides lines.
func (l *Log) Event(ev *observe.Event) {
	if l != nil {
		l.put(eventRecord{l.pid, ev})
	}
}

func (l *Log) put(v any) {
	if l.err != nil {
		return
	}
	l.err = l.enc.Encode(v)
	if l.buf.Len() > flushBytes {
		l.Flush()
	}
}

// Flush writes what has gathered.
func (l *Log) Flush() {
	if l == nil || l.buf.Len() == 0 {
		return
	}
	if l.err == nil {
		_, l.err = l.f.Write(l.buf.Bytes())
	}
	l.buf.Reset()
}

// Close writes the rest and returns the first error of writing.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.Flush()
	if err := l.f.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}

// endsInside reports whether the last byte of f is not a newline.
func endsInside(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	r, err := os.Open(f.Name()) // f is open for writing only
	if err != nil {
		return false
	}
	defer r.Close()
	last := make([]byte, 1)
	_, err = r.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}
