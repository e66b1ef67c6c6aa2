package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// The server's last words: so many lines, of at most so many bytes each.
const (
	tailLines = 5
	tailWidth = 300
)

// stderrLog passes the server's stderr on and keeps its last lines. Whoever
// else writes to stderr does it through the same lock. A host that does not read
// stderr holds a write, and with it that lock, forever: the lines have their own.
type stderrLog struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // the server's last byte there was no newline

	tail  sync.Mutex // never held while writing
	lines []string   // whole lines, the last tailLines
	part  []byte     // the line being written, its first tailWidth bytes
}

// Write prints p, from the start of a line; it is for mcptap's own words.
func (s *stderrLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.open = false
		s.w.Write([]byte("\n"))
	}
	return s.w.Write(p)
}

// copy passes r on until it ends. If stderr itself cannot be written to, r is
// drained all the same: a server must not hang on its log.
func (s *stderrLog) copy(r io.Reader, saw func()) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			saw()
			s.pass(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (s *stderrLog) pass(p []byte) {
	s.keep(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Write(p)
	s.open = p[len(p)-1] != '\n'
}

func (s *stderrLog) keep(p []byte) {
	s.tail.Lock()
	defer s.tail.Unlock()
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		s.part = append(s.part, line[:min(len(line), tailWidth-min(tailWidth, len(s.part)))]...)
		if whole {
			s.endLine()
		}
		p = rest
	}
}

func (s *stderrLog) endLine() {
	if line := strings.TrimSpace(string(s.part)); line != "" {
		s.lines = append(s.lines, line)
		s.lines = s.lines[max(0, len(s.lines)-tailLines):]
	}
	s.part = s.part[:0]
}

// last returns the last lines.
func (s *stderrLog) last() []string {
	s.tail.Lock()
	defer s.tail.Unlock()
	s.endLine()
	return append([]string(nil), s.lines...)
}
