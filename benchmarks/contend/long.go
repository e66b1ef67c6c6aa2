package contend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"example.com/mcp/framing"
)

// LongLine reads one long line, which a newline ends.
type LongLine struct {
	Name      string
	Quadratic bool // not for lines over a megabyte
	Read      func(line []byte) error
}

// LongLines lists the ways to read one: this module's first.
var LongLines = []LongLine{
	{"framing.Reader, 64 KB reads", false, func(line []byte) error { return readOne(Chunks(line, ReadSize)) }},
	{"framing.Reader, 4 KB reads", false, func(line []byte) error { return readOne(Chunks(line, 4<<10)) }},
	{"framing.LineReader, 16-byte feeds", false, func(line []byte) error { return Feed(line, 16) }},
	{"bufio.Reader + json.Unmarshal, 4 KB reads", false, func(line []byte) error { return readBytes(Chunks(line, 4<<10)) }},
	{"bufio.Scanner + json.Unmarshal, 4 KB reads", true, func(line []byte) error { return Scan(Chunks(line, 4<<10)) }},
}

func readOne(r io.Reader) error {
	m, err := framing.NewReader(r).ReadMessage()
	if err != nil {
		return err
	}
	return m.Err
}

// Feed gives line to a LineReader in pieces of size bytes.
func Feed(line []byte, size int) error {
	var r framing.LineReader
	got := 0
	for len(line) > 0 {
		n := min(size, len(line))
		got += len(r.Feed(line[:n]))
		line = line[n:]
	}
	if got != 1 {
		return fmt.Errorf("LineReader gave %d messages, want 1", got)
	}
	return nil
}

func readBytes(r io.Reader) error {
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		return err
	}
	var e envelope
	return json.Unmarshal(line, &e)
}

// Scan reads one line with bufio.Scanner and json.Unmarshal.
func Scan(r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 2*framing.DefaultMaxLine)
	if !s.Scan() {
		return io.ErrUnexpectedEOF
	}
	var e envelope
	return json.Unmarshal(s.Bytes(), &e)
}
