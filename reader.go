package framing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"example.com/mcp/framing/internal/jsonscan"
)

// DefaultMaxLine is the longest line accepted where MaxLine is 0: 64 MiB. The
// MCP specification sets no limit; the largest real messages are images and
// files in base64, a few megabytes long.
const DefaultMaxLine = 64 << 20

const (
	blockSize = 64 << 10 // of the blocks that short lines land in, and of the parts of long ones
	minRead   = 4 << 10  // Reader begins a new block rather than read into less
	headSize  = 1024     // how much of an over-long line is kept
)

// LineReader cuts a stream of bytes into messages. It does no I/O: Feed it
// what has been read, in order, and Flush it at the end. The zero value is
// ready to use.
//
// However the stream is cut into chunks, the messages are the same. A bad line
// becomes a Message of Kind Malformed or Invalid in its place and costs nothing
// else.
//
// A LineReader is for one stream: it drops a byte order mark at the stream's
// start alone, so a new one for each line would drop those in mid-stream, too.
// It must not be copied after first use.
//
// A LineReader must not be used by several goroutines at the same time. The
// messages are independent of it and of each other.
type LineReader struct {
	// MaxLine is the longest line accepted, in bytes without its terminator.
	// 0 stands for DefaultMaxLine, a negative number for no limit. Of a longer
	// line the first 1024 bytes, the id and the method are kept, and the memory
	// in use stays within MaxLine and a block of 64 KiB; a good line takes twice
	// its length while it is put together.
	MaxLine int

	// The bytes of the stream land in a block, where messages are slices of it:
	//
	//   - buf[:start]             // delivered: belongs to the messages
	//   - buf[start:searched]     // pending, holds no newline
	//   - buf[searched:len(buf)]  // pending, not searched yet
	//   - buf[len(buf):cap(buf)]  // free
	//
	// A pending line that outgrows the block is gathered in parts, of which buf
	// is the last, with start at 0, while block keeps the block. Where it
	// outgrows MaxLine, long takes it, and what is read of it is dropped from
	// buf again.
	buf      []byte
	start    int
	searched int
	parts    [][]byte  // full parts of the pending line, blockSize bytes each
	block    []byte    // nil unless buf is a part
	long     *longLine // nil unless the pending line is too long
	began    bool      // the first bytes have been checked for a byte order mark
	methods  names
}

// Feed returns the messages that chunk completes, in order, or nil. It keeps
// nothing of chunk, which may be reused at once.
func (r *LineReader) Feed(chunk []byte) []Message {
	var ms []Message
	for len(chunk) > 0 {
		n := copy(r.room(min(len(chunk), minRead)), chunk)
		r.advance(n)
		chunk = chunk[n:]
		ms = r.appendReady(ms, chunk)
	}
	if len(ms) == 0 {
		return nil // also where room was made for lines that were blank
	}
	return ms
}

// appendReady appends the messages in buf. Room is made for as many as there
// are newlines, in the chunk's rest too, so that one allocation does. A flood
// of blank lines is not taken at its word: no real message is shorter than 32
// bytes.
func (r *LineReader) appendReady(ms []Message, rest []byte) []Message {
	for {
		if len(ms) == cap(ms) {
			lines := bytes.Count(r.buf[r.searched:], newline)
			if lines == 0 {
				r.next(nil)
				return ms
			}
			lines += bytes.Count(rest, newline)
			ms = slices.Grow(ms, min(lines, 1+len(ms)+(len(r.buf)-r.searched+len(rest))/32))
		}
		next := ms[:len(ms)+1]
		if !r.next(&next[len(ms)]) {
			return ms
		}
		ms = next
	}
}

var newline = []byte{'\n'}

// Flush ends the stream. It returns what was held back for a newline that did
// not come, if that is more than white space: a message if it is complete, else
// a Malformed one, with [io.ErrUnexpectedEOF] where it breaks off inside a JSON
// text. The LineReader is then ready for a new stream.
func (r *LineReader) Flush() (Message, bool) {
	var m Message
	ok := r.take(&m, len(r.buf), true)
	r.began = false
	return m, ok
}

// Buffered returns how many bytes are held back for the next Feed.
func (r *LineReader) Buffered() int {
	n := r.length(len(r.buf))
	if r.long != nil {
		n += len(r.long.head)
	}
	return n
}

// room returns the free space of buf, which is not empty. A new block is begun
// rather than less than n bytes returned of the old, unless all of that belongs
// to a line that will not fit a block anyway.
func (r *LineReader) room(n int) []byte {
	free := cap(r.buf) - len(r.buf)
	if r.block == nil && (free == 0 || free < n && r.start > 0) {
		r.leaveBlock()
	}
	if r.block != nil && len(r.buf) == blockSize {
		r.addPart()
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// advance adds n bytes, which have been written to room, to the pending ones.
func (r *LineReader) advance(n int) { r.buf = r.buf[:len(r.buf)+n] }

// leaveBlock moves a short pending line to a new block and leaves the old one
// to its messages. A longer line moves to a part; where the block holds nothing
// else, it is the first part itself.
func (r *LineReader) leaveBlock() {
	tail := r.buf[r.start:]
	switch {
	case len(tail) <= blockSize/2:
		r.buf = append(newPart(), tail...)
	case len(tail) < blockSize:
		r.block = r.buf[:r.start]
		r.buf = append(newPart(), tail...)
	default:
		r.block = []byte{}
		r.addPart()
		return
	}
	r.searched -= r.start
	r.start = 0
}

// addPart goes on in a new part.
func (r *LineReader) addPart() {
	r.parts = append(r.parts, r.buf)
	r.buf, r.searched = newPart(), 0
}

// A part holds some of a long line until its end has come and it can be copied
// to a buffer of its own size. So each byte is copied twice at most, nothing
// is allocated that is not used, and what is left of a long line is the
// garbage collector's to keep or to free. A part may become a block; a block
// that messages lie in never becomes a part.
type part [blockSize]byte

var partPool = sync.Pool{New: func() any { return new(part) }}

func newPart() []byte { return partPool.Get().(*part)[:0] }

// join returns the pending line, which ends at buf[end], in a buffer of its
// own.
func (r *LineReader) join(end int) []byte {
	line := bytes.Join(append(r.parts, r.buf[:end]), nil)
	r.skip(end)
	return line
}

// skip goes on behind the newline at buf[end]. At the end of the stream there
// is none.
func (r *LineReader) skip(end int) {
	next := min(end+1, len(r.buf))
	if r.block != nil {
		r.leaveParts(r.buf[next:])
		return
	}
	r.start, r.searched = next, next
}

// leaveParts goes back to the block, with rest in it.
func (r *LineReader) leaveParts(rest []byte) {
	last := r.buf
	r.buf = r.block
	r.start, r.searched = len(r.buf), len(r.buf)
	if len(rest) > cap(r.buf)-len(r.buf) {
		r.buf = newPart()
		r.start, r.searched = 0, 0
	}
	r.buf = append(r.buf, rest...)
	for _, p := range append(r.parts, last) {
		partPool.Put((*part)(p[:blockSize]))
	}
	r.parts, r.block = nil, nil
}

// next sets m, which must be zero, to the next message in buf and reports
// whether there is one. If not, more bytes are needed. Without a newline in buf
// m is not touched.
func (r *LineReader) next(m *Message) bool {
	if !r.began && !r.begin() {
		return false
	}
	for {
		n := bytes.IndexByte(r.buf[r.searched:], '\n')
		if n < 0 {
			r.searched = len(r.buf)
			r.checkLimit()
			return false
		}
		if r.take(m, r.searched+n, false) {
			return true
		}
	}
}

// begin drops a byte order mark (RFC 8259 section 8.1 lets a parser ignore
// one) and reports whether enough bytes are there to know.
func (r *LineReader) begin() bool {
	const mark = "\uFEFF"
	head := r.buf[r.start:]
	if len(head) < len(mark) && string(head) == mark[:len(head)] {
		return false
	}
	if len(head) >= len(mark) && string(head[:len(mark)]) == mark {
		r.start += len(mark)
		r.searched = r.start
	}
	r.began = true
	return true
}

// take ends the pending line at buf[end], sets m to its message and reports
// whether it is one: a blank line is not. At the end of the stream no newline
// follows.
func (r *LineReader) take(m *Message, end int, eof bool) bool {
	// The usual case of isLong and of skip is spelled out: their calls cost a
	// small message 7 %.
	if over := r.length(end) - r.limit(); r.long != nil || over > 0 && r.isLong(over, end, eof) {
		return r.takeLong(m, end, eof)
	}
	text, n := r.buf[r.start:], end-r.start
	if r.block == nil {
		r.start = min(end+1, len(r.buf))
		r.searched = r.start
	} else {
		text = r.join(end)
		n = len(text)
	}
	if n > 0 && text[n-1] == '\r' && !eof {
		n--
	}
	if isBlank(text[:n]) {
		return false
	}
	m.parse(text, n, &r.methods, eof)
	return true
}

// length returns the length of the pending line up to buf[end].
func (r *LineReader) length(end int) int { return len(r.parts)*blockSize + end - r.start }

// isLong reports whether the line that ends at buf[end], over bytes behind the
// limit, is too long: one byte over may be the CR of its terminator.
func (r *LineReader) isLong(over, end int, eof bool) bool {
	return over > 1 || over == 1 && (eof || !r.isCR(end))
}

// isCR reports whether a CR stands in the pending line before buf[end].
func (r *LineReader) isCR(end int) bool {
	if end > r.start {
		return r.buf[end-1] == '\r'
	}
	last := len(r.parts) - 1
	return last >= 0 && r.parts[last][blockSize-1] == '\r'
}

// takeLong takes a line that is too long.
func (r *LineReader) takeLong(m *Message, end int, eof bool) bool {
	r.giveUp(end)
	r.skip(end)
	long := r.long
	r.long = nil
	return long.message(m, eof)
}

// giveUp leaves the pending line up to buf[end] to long.
func (r *LineReader) giveUp(end int) {
	if r.long == nil {
		r.long = &longLine{limit: r.limit()}
		for _, p := range r.parts {
			r.long.write(p)
		}
	}
	r.long.write(r.buf[r.start:end])
}

// isBlank reports whether there are only spaces, tabs and CRs in line.
func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func (r *LineReader) limit() int {
	switch {
	case r.MaxLine == 0:
		return DefaultMaxLine
	case r.MaxLine < 0:
		return math.MaxInt
	}
	return r.MaxLine
}

// checkLimit gives the pending line up once it is too long whatever follows.
func (r *LineReader) checkLimit() {
	end := len(r.buf)
	if end == r.start || r.long == nil && !r.isLong(r.length(end)-r.limit(), end, false) {
		return
	}
	r.giveUp(end)
	if r.block != nil {
		r.leaveParts(nil)
	}
	r.buf = r.buf[:r.start]
	r.searched = r.start
}

// A longLine is what is known of a line that is too long to be kept.
type longLine struct {
	limit   int    // the limit that it has passed
	head    []byte // its first headSize bytes
	size    int64  // bytes so far
	lastCR  bool   // the last of them is a CR
	text    bool   // not all of them are white space
	salvage jsonscan.Salvage
}

func (l *longLine) write(p []byte) {
	if len(p) == 0 {
		return
	}
	l.head = append(l.head, p[:min(len(p), headSize-len(l.head))]...)
	l.size += int64(len(p))
	l.lastCR = p[len(p)-1] == '\r'
	l.text = l.text || !isBlank(p)
	l.salvage.Write(p)
}

// message sets m to the entry for the line and reports whether there is one:
// not for a blank line. A CR at the end belongs to the terminator, unless bare.
func (l *longLine) message(m *Message, bare bool) bool {
	if !l.text {
		return false
	}
	size := l.size
	if l.lastCR && !bare {
		size--
	}
	head := l.head[:min(size, int64(len(l.head)))]
	*m = Message{
		Kind:   Malformed,
		Line:   head[:len(head):len(head)],
		ID:     l.salvage.ID(),
		Method: l.salvage.Method(),
		Err: &LineError{
			Offset: l.limit,
			Reason: fmt.Sprintf("the line has %d bytes, the limit is %d", size, l.limit),
			Err:    ErrTooLong,
		},
	}
	m.Params = l.seen(jsonscan.Params)
	m.Result = l.seen(jsonscan.Result)
	m.ErrorObject = l.seen(jsonscan.Error)
	return true
}

// seen returns an empty value for a member that the line has.
func (l *longLine) seen(member jsonscan.Member) []byte {
	if l.salvage.Has(member) {
		return []byte{}
	}
	return nil
}

// Reader reads messages from an [io.Reader]. Make one with [NewReader].
//
// It reads ahead, but a message is returned as soon as its newline has been
// read, without another Read. Reading is the same as in LineReader.
//
// A Reader must not be used by several goroutines at the same time. The
// messages are independent of it and of each other.
type Reader struct {
	// MaxLine is the longest line accepted, as in LineReader.
	MaxLine int

	src   io.Reader
	lines LineReader
	err   error // what src returned with the last bytes
}

// NewReader returns a Reader that reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{src: r} }

// ReadMessage returns the next message. A bad line is a Message too, never an
// error.
//
// The error is [io.EOF] at the end of the stream, and from then on. Any other
// error of the underlying reader is returned as it is, once the messages read
// before it have been; no byte is lost, and the next call reads on, which suits
// a timeout. A reader that returns nothing 100 times in a row makes
// [io.ErrNoProgress].
func (r *Reader) ReadMessage() (m Message, err error) {
	r.lines.MaxLine = r.MaxLine
	for !r.lines.next(&m) {
		if r.err == io.EOF {
			if m, ok := r.lines.Flush(); ok {
				return m, nil
			}
			return Message{}, io.EOF
		}
		if err = r.err; err != nil {
			r.err = nil
			return Message{}, err
		}
		r.fill()
	}
	return m, nil
}

// maxEmptyReads is the number of empty reads after which bufio gives up, too.
const maxEmptyReads = 100

var errBadCount = errors.New("framing: reader returned an impossible count from Read")

// fill reads once, or more often if nothing comes.
func (r *Reader) fill() {
	room := r.lines.room(minRead)
	for range maxEmptyReads {
		n, err := r.src.Read(room)
		if n < 0 || n > len(room) {
			n, err = 0, errBadCount
		}
		r.lines.advance(n)
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// All returns an iterator over the messages up to the end of the stream. If
// reading fails, it yields the error with a zero Message and ends.
func (r *Reader) All() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			m, err := r.ReadMessage()
			if err == io.EOF || !yield(m, err) || err != nil {
				return
			}
		}
	}
}
