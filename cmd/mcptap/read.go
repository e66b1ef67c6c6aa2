package main

import (
	"io"
	"os"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
	"example.com/mcp/framing/cmd/mcptap/internal/show"
)

// readSize is how much of a file or of a stream is read at once. A pipe holds
// 64 KiB on Linux, so a larger buffer would stay empty.
const readSize = 64 << 10

// read prints the files, or stdin. It returns the exit status.
func read(c config, std streams) int {
	p := show.New(std.out, c.json, wantsColour(std.out))
	status := 0
	if len(c.files) == 0 {
		status = readPlain(c, std.in, p)
	}
	for _, name := range c.files {
		if len(c.files) > 1 {
			p.File(name)
		}
		s, err := readFile(c, name, p)
		if err != nil {
			p.Flush()
			return fail(std, err)
		}
		status = max(status, s)
	}
	if err := p.Flush(); err != nil {
		return fail(std, err)
	}
	return status
}

func readFile(c config, name string, p show.Printer) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return readPlain(c, f, p), nil
}

// readPlain prints a stream of messages of which nobody knows who wrote it.
func readPlain(c config, r io.Reader, p show.Printer) int {
	o := observe.NewObserver(c.maxLine, c.redact)
	o.OnEntry = p.Entry
	buf := make([]byte, readSize)
	var err error
	for err == nil {
		var n int
		n, err = r.Read(buf)
		o.Chunk(time.Time{}, observe.Unknown, buf[:n])
		if p.Flush() != nil {
			break // the reader of our output is gone
		}
	}
	o.EOF(time.Time{}, observe.Unknown)
	s := o.Summary(time.Time{}, true)
	p.Summary(s)
	return statusOf(s)
}

func statusOf(s observe.Summary) int {
	for _, st := range s.Streams {
		if st.BadLines() > 0 {
			return exitBadLines
		}
	}
	return 0
}
