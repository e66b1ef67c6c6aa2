package observe

import (
	"bytes"
	"time"

	"example.com/mcp/framing"
)

// maxItems bounds the messages of one line that are looked at singly: a
// 64 MB batch may hold 30 million elements.
const maxItems = 1000

// A Scanner turns the bytes of one direction into entries. Set the fields
// before the first call.
type Scanner struct {
	Dir     Dir
	MaxLine int          // as framing.LineReader's
	Redact  bool         // mask values in excerpts
	Emit    func(*Entry) // called for each line that is not blank, in order

	raw   Raw
	lines framing.LineReader
	join  joiner

	// The line being read: size bytes of it have come, prev is the last one,
	// and head its first three.
	size int64
	prev byte
	head [3]byte
	skip bool // a gap took its beginning: it goes unseen
	bom  bool // the stream began with a BOM, not yet reported
}

// Raw returns the counts so far.
func (s *Scanner) Raw() Raw {
	raw := s.raw
	raw.Partial = s.size
	return raw
}

// Feed takes the bytes of one read, at its time. It keeps no reference to
// chunk.
func (s *Scanner) Feed(at time.Time, chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	s.lines.MaxLine = s.MaxLine
	s.raw.Reads++
	s.raw.Bytes += int64(len(chunk))
	for len(chunk) > 0 {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			s.part(chunk)
			s.raw.SplitReads++
			return
		}
		s.line(at, chunk[:end+1])
		chunk = chunk[end+1:]
	}
}

// part takes bytes that do not end a line.
func (s *Scanner) part(piece []byte) {
	s.advance(piece)
	if !s.skip {
		s.lines.Feed(piece)
	}
}

// advance keeps the books of the line being read.
func (s *Scanner) advance(piece []byte) {
	if s.size < int64(len(s.head)) {
		copy(s.head[s.size:], piece)
	}
	s.size += int64(len(piece))
	s.prev = piece[len(piece)-1]
}

// line takes the bytes up to and including a newline. Feeding the reader line
// by line is what ties each message to its line number: the reader itself
// passes over blank lines in silence.
func (s *Scanner) line(at time.Time, piece []byte) {
	if body := piece[:len(piece)-1]; len(body) > 0 {
		s.advance(body)
	}
	size, crlf, skip := s.begin()
	if skip {
		s.raw.UnseenLines++
		return
	}
	if crlf {
		s.raw.CRLF++
		size--
	}
	msgs := s.lines.Feed(piece)
	if len(msgs) == 0 {
		s.raw.Blank++
		s.join.blank()
		return
	}
	s.emit(at, msgs[0], size, crlf, false)
}

// begin ends the books of one line and opens those of the next.
func (s *Scanner) begin() (size int64, crlf, skip bool) {
	s.raw.Lines++
	if s.raw.Lines == 1 && s.size >= 3 && s.head == [3]byte{0xEF, 0xBB, 0xBF} {
		s.bom = true
	}
	size, crlf, skip = s.size, s.size > 0 && s.prev == '\r', s.skip
	s.size, s.prev, s.skip = 0, 0, false
	return size, crlf, skip
}

// EOF takes the end of the stream.
func (s *Scanner) EOF(at time.Time) {
	if s.size == 0 && !s.skip {
		return
	}
	size, _, skip := s.begin()
	m, ok := s.lines.Flush()
	switch {
	case skip:
		s.raw.UnseenLines++
	case ok:
		s.emit(at, m, size, false, true)
	default:
		s.raw.Blank++
	}
}

// Gap takes note of bytes that went by unseen. The line that they cut is
// given up, and reading goes on behind the next newline.
func (s *Scanner) Gap(g Gap) {
	s.raw.Bytes += g.Bytes
	s.raw.UnseenBytes += g.Bytes
	s.raw.Lines += g.Newlines
	s.raw.UnseenLines += g.Newlines
	s.size, s.prev, s.skip = 0, 0, g.Inside
	s.join.reset()
	s.lines = behindStart(s.MaxLine)
}

func (s *Scanner) emit(at time.Time, m framing.Message, size int64, crlf, unterminated bool) {
	e := &Entry{
		Time: at, Dir: s.Dir, Line: s.raw.Lines, Item: itemOf(m),
		Bytes: size, CRLF: crlf, Unterminated: unterminated, BOM: s.bom,
	}
	s.bom = false
	s.inspect(e, m)
	s.Emit(e)
}

// inspect fills in what lies inside the line.
func (s *Scanner) inspect(e *Entry, m framing.Message) {
	names := memberNames(m)
	e.Variants = names.variants
	if e.As == "" && m.Kind == framing.Invalid && m.ID != nil && names.answers() {
		e.As = "response" // with an error that is a string, say
	}
	if m.Kind == framing.Batch {
		for elem := range m.Batch() {
			e.addItem(elem)
		}
	}
	if m.Err != nil {
		e.Fault = s.fault(m, names)
		for _, text := range textsOf(m, e.Fault.Sort) {
			e.addText(text)
		}
	}
	s.joinLines(e, m)
}

// joinLines sees whether the line is a piece of a message broken over
// several.
func (s *Scanner) joinLines(e *Entry, m framing.Message) {
	partOf, whole := s.join.add(e.Line, m)
	e.PartOf = partOf
	if whole != nil {
		e.Completes = true
		e.Items = nil
		e.addText(whole)
	}
}

func (e *Entry) addText(text []byte) {
	if m, ok := Parse(text); ok {
		e.addItem(m)
	}
}

func (e *Entry) addItem(m framing.Message) {
	if len(e.Items) >= maxItems {
		e.MoreItems++
		return
	}
	e.Items = append(e.Items, itemOf(m))
}

// Parse returns text, a line without its newline, as a message; ok is false if
// it is blank.
func Parse(text []byte) (m framing.Message, ok bool) {
	lines := behindStart(-1)
	lines.Feed(text)
	return lines.Flush()
}

// behindStart returns a reader that has begun: it takes no BOM for one at the
// start of the stream.
func behindStart(maxLine int) framing.LineReader {
	lines := framing.LineReader{MaxLine: maxLine}
	lines.Feed([]byte("\n"))
	return lines
}
