package main

import (
	"bytes"
	"io"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// A cleaner passes on the lines of a stream that are messages and hands the
// others to junk. It holds a line back until it is whole; what it passes is
// unchanged, save for a byte order mark at the very start.
//
// Dropping a broken answer would turn its client's error into a hang, and some
// clients read what is not quite JSON, so a line goes on if it was meant as a
// message (see observe.Meant), and so does an over-long one that begins as JSON
// does.
type cleaner struct {
	w       io.Writer
	junk    func(line int, text []byte) // text is valid during the call
	maxLine int                         // <0: no limit

	line  int    // lines begun
	held  []byte // the line at hand, so far
	state cleanState
	out   []byte // lines to pass, gathered for one Write
}

type cleanState uint8

const (
	cleanHold cleanState = iota // the line at hand is held back
	cleanPass                   // it is over-long and goes through
	cleanDrop                   // it is over-long junk
)

// junkBytes is how much of an over-long junk line is shown.
const junkBytes = 1024

// Write takes the next bytes of the stream.
func (c *cleaner) Write(p []byte) (int, error) {
	c.out = c.out[:0]
	for rest := p; len(rest) > 0; {
		piece := rest
		end := bytes.IndexByte(rest, '\n')
		if end >= 0 {
			piece = rest[:end+1]
		}
		rest = rest[len(piece):]
		c.take(piece)
		if end >= 0 {
			c.endLine()
		}
	}
	return len(p), c.flush()
}

// Close takes the end of the stream.
func (c *cleaner) Close() error {
	c.out = c.out[:0]
	if len(c.held) > 0 {
		c.endLine()
	}
	return c.flush()
}

func (c *cleaner) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.w.Write(c.out)
	if cap(c.out) > 1<<20 {
		c.out = nil
	}
	return err
}

func (c *cleaner) take(piece []byte) {
	switch c.state {
	case cleanPass:
		c.out = append(c.out, piece...)
	case cleanHold:
		c.held = append(c.held, piece...)
		if c.maxLine >= 0 && len(c.held) > c.maxLine+len("\r\n") {
			c.overLong()
		}
	}
}

func (c *cleaner) overLong() {
	c.state = cleanDrop
	text := bytes.TrimLeft(c.held[:c.maxLine], " \t\r") // however much more has come
	switch {
	case len(text) == 0: // no message is so far from the start of its line
	case text[0] == '{' || text[0] == '[':
		c.state = cleanPass
		if len(c.out) == 0 {
			c.out = c.held // it may be large
		} else {
			c.out = append(c.out, c.held...)
		}
	default:
		c.junk(c.line+1, append(c.held[:min(junkBytes, c.maxLine)], "..."...))
	}
	c.held = nil
}

func (c *cleaner) endLine() {
	c.line++
	if c.state == cleanHold {
		c.judge()
	}
	c.state = cleanHold
	if c.held = c.held[:0]; cap(c.held) > 1<<20 {
		c.held = nil
	}
}

// judge passes the line on, or calls it junk. A blank line is neither.
func (c *cleaner) judge() {
	line := c.held
	if bom := []byte("\xEF\xBB\xBF"); c.line == 1 && bytes.HasPrefix(line, bom) {
		c.junk(1, []byte("(a byte order mark)"))
		line = line[len(bom):]
	}
	text := bytes.TrimRight(line, "\r\n")
	switch m, ok := observe.Parse(text); {
	case !ok:
	case observe.Meant(m):
		c.out = append(c.out, line...)
	default:
		c.junk(c.line, text)
	}
}
