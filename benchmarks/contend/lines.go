package contend

import (
	"bytes"
	"io"
	"unicode/utf8"

	"example.com/mcp/framing"
)

// lines cuts a stream into lines as cheaply as it can be done: one buffer, which
// doubles for a line that does not fit, and one memchr over each byte. A line
// is valid until the next call of next.
//
// buf[:start] is done with, buf[start:end] is read; buf[start:seen] holds no LF.
type lines struct {
	r                io.Reader
	buf              []byte
	start, seen, end int
	err              error // from r
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, ReadSize)} }

// next returns the next line without its LF, or the error that ended the stream.
func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.seen+i]
			l.seen += i + 1
			l.start = l.seen
			return line, nil
		}
		l.seen = l.end
		if l.err != nil {
			return nil, l.err
		}
		l.fill()
	}
}

func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.seen, l.start = l.end, 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	var n int
	n, l.err = l.r.Read(l.buf[l.end:])
	l.end += n
}

// eachLine returns a Read function that gives each line after work has seen it.
func eachLine(work func(line []byte) []byte) func(io.Reader, func(*framing.Message)) error {
	return func(r io.Reader, each func(*framing.Message)) error {
		var m framing.Message
		for l := newLines(r); ; {
			line, err := l.next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			m.Line = work(line)
			each(&m)
		}
	}
}

// Floors are bounds: what the machine needs to find the ends of the lines, to
// make each line the caller's own, and to see that it is UTF-8.
var Floors = []Reader{
	{Name: "memchr", Role: Floor, Read: eachLine(func(line []byte) []byte { return line })},
	{Name: "memchr+copy", Role: Floor, Read: eachLine(bytes.Clone)},
	{Name: "memchr+copy+utf8.Valid", Role: Floor, Read: eachLine(func(line []byte) []byte {
		if !utf8.Valid(line) {
			return nil
		}
		return bytes.Clone(line)
	})},
}
