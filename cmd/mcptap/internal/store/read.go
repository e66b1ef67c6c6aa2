package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// Format is what a file holds.
type Format uint8

const (
	Plain     Format = iota // messages
	IsLog                   // the records of a Log
	IsReads                 // the reads of a Capture
	IsProgram               // an executable file
)

// Sniff tells the format of a file by its beginning.
func Sniff(r *bufio.Reader) Format {
	head, _ := r.Peek(32)
	switch {
	case bytes.HasPrefix(head, []byte(`{"pid":`)):
		return IsLog
	case bytes.HasPrefix(head, []byte(`{"mcptap":"capture"`)):
		return IsReads
	case bytes.HasPrefix(head, []byte("\x7FELF")), bytes.HasPrefix(head, []byte("#!")), bytes.HasPrefix(head, []byte("MZ\x90\x00")):
		return IsProgram
	}
	return Plain
}

// maxRecord is the longest record read back, in bytes: one with maxItems
// messages inside stays far below it.
const maxRecord = 16 << 20

var errTooLong = fmt.Errorf("the line is longer than %d bytes", maxRecord)

// eachLine calls f with each line of r, from number 1 on, until it returns an
// error, and names the line of that. Of an over-long line f gets errTooLong.
func eachLine(r io.Reader, f func(n int, line []byte, err error) error) error {
	b := bufio.NewReaderSize(r, flushBytes)
	var line []byte
	for n := 1; ; n++ {
		var size int
		var err error
		line, size, err = readLine(b, line[:0])
		switch {
		case err == io.EOF && size == 0:
			return nil
		case err != nil && err != io.EOF:
		case size > maxRecord:
			err = f(n, nil, errTooLong)
		default:
			err = f(n, bytes.TrimSuffix(line, []byte("\r")), nil)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// readLine appends the next line to buf, without its newline, or as much of it as
// a record may have, and returns its size.
func readLine(b *bufio.Reader, buf []byte) (line []byte, size int, err error) {
	for {
		piece, err := b.ReadSlice('\n')
		piece = bytes.TrimSuffix(piece, []byte("\n"))
		if size += len(piece); size <= maxRecord {
			buf = append(buf, piece...)
		}
		if err != bufio.ErrBufferFull {
			return buf, size, err
		}
	}
}

// ReadLog calls f with each record of a log: an entry or an event, and the
// process that wrote it. What is no record, say because a full disk cut it
// off, is passed over, and an error at the end tells of it.
func ReadLog(r io.Reader, f func(pid int, e *observe.Entry, ev *observe.Event)) error {
	var first error
	bad := 0
	err := eachLine(r, func(n int, line []byte, err error) error {
		if len(line) == 0 && err == nil {
			return nil
		}
		pid, e, ev, err := logRecord(line, err)
		if err == nil {
			f(pid, e, ev)
			return nil
		}
		if bad++; first == nil {
			first = fmt.Errorf("line %d: not a record of a log, passed over: %w", n, err)
		}
		return nil
	})
	if bad > 1 {
		first = fmt.Errorf("%w (and %d more lines)", first, bad-1)
	}
	if first != nil && err != nil {
		return fmt.Errorf("%w; %w", first, err)
	}
	return cmp.Or(first, err)
}

// logRecord parses a line of a log, unless it could not be read.
func logRecord(line []byte, bad error) (pid int, e *observe.Entry, ev *observe.Event, err error) {
	if bad != nil {
		return 0, nil, nil, bad
	}
	var head struct {
		PID         int
		Event, Kind string
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return 0, nil, nil, err
	}
	switch {
	case head.Event != "":
		ev = new(observe.Event)
		err = json.Unmarshal(line, ev)
	case head.Kind != "":
		e = new(observe.Entry)
		err = json.Unmarshal(line, e)
	default:
		err = errors.New("neither a message nor an event")
	}
	return head.PID, e, ev, err
}

// Captures returns the reads.ndjson of each capture in the folder dir, in the
// order of their numbers.
func Captures(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "reads*.ndjson"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no capture in this folder (no reads.ndjson)", dir)
	}
	slices.SortFunc(names, func(a, b string) int { // reads-10 behind reads-9
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names, err
}

// ReadCapture plays the capture whose reads.ndjson is name to o.
func ReadCapture(name string, o *observe.Observer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	p := player{dir: filepath.Dir(name), o: o}
	defer p.close()
	if err := eachLine(f, func(_ int, line []byte, err error) error {
		if err != nil {
			return err
		}
		return p.play(line)
	}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// player plays a capture.
type player struct {
	dir string
	o   *observe.Observer
	raw [3]*os.File
	buf []byte
}

func (p *player) play(line []byte) error {
	var r read
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("not a read of a capture: %w", err)
	}
	switch {
	case r.Mcptap != "":
		p.o.Start(r.Time, r.Command)
		return p.open(r.Files)
	case r.End != nil:
		p.o.EOF(r.Time, observe.ToServer)
		p.o.EOF(r.Time, observe.ToClient)
		p.o.End(r.Time, *r.End)
	case r.EOF:
		p.o.EOF(r.Time, r.Dir)
	case r.Gap != nil:
		p.o.Gap(r.Time, r.Dir, *r.Gap)
	default:
		return p.chunk(r)
	}
	return nil
}

// open opens the files of raw bytes, which are in the folder of the reads
// whatever path their names have.
func (p *player) open(names []string) error {
	if len(names) != 2 {
		return errors.New("a capture has two files")
	}
	for i, name := range names {
		f, err := os.Open(filepath.Join(p.dir, filepath.Base(name)))
		if err != nil {
			return err
		}
		p.raw[i+1] = f
	}
	return nil
}

// chunk feeds the bytes of one read, or those of them that there are.
func (p *player) chunk(r read) error {
	f := p.raw[r.Dir]
	if f == nil || r.Bytes < 0 || r.Bytes > maxRecord {
		return errors.New("a read without a direction, or of an impossible size")
	}
	if cap(p.buf) < r.Bytes {
		p.buf = make([]byte, r.Bytes)
	}
	chunk := p.buf[:r.Bytes]
	if n, err := io.ReadFull(f, chunk); err != nil {
		p.o.Chunk(r.Time, r.Dir, chunk[:n])
		return fmt.Errorf("%s is shorter than its reads", filepath.Base(f.Name()))
	}
	p.o.Chunk(r.Time, r.Dir, chunk)
	return nil
}

func (p *player) close() {
	for _, f := range p.raw {
		if f != nil {
			f.Close()
		}
	}
}
