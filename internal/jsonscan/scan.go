// Package jsonscan checks one JSON text, byte by byte, and notes where the
// members of a JSON-RPC 2.0 envelope stand in it. It builds no values, copies
// nothing and keeps nothing: what it returns are offsets into the caller's
// bytes. It also compacts raw JSON, watches over-long lines for their id, and
// puts faults into words.
package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting accepted, the same as in encoding/json.
// RFC 8259 section 9 allows a limit; without one a few megabytes of '[' would
// exhaust the stack.
const MaxDepth = 10000

// Code says what kind of fault a text has.
type Code uint8

const (
	OK          Code = iota
	Unexpected       // a byte that cannot stand where it stands
	Truncated        // the text ends before it is complete
	Trailing         // more bytes after a complete text
	BadControl       // a raw byte below 0x20 in a string
	BadEscape        // a backslash that starts no escape
	BadNumber        // a number that breaks off or goes on wrongly
	BadLiteral       // a bare word other than true, false, null
	TooDeep          // nesting deeper than MaxDepth
	InvalidUTF8      // bytes that are not UTF-8
)

// Fault is a Code and the offset of the first byte that is wrong.
type Fault struct {
	Code   Code
	Offset int
}

// Member names the envelope members.
type Member int

const (
	JSONRPC Member = iota
	ID
	Method
	Params
	Result
	Error
	NumMembers
)

// Span is a range of bytes. The zero Span stands for "absent": no value starts
// at the first byte of an object.
type Span struct{ Start, End int }

// Of returns the bytes of s in b, with no capacity behind them, or nil.
func (s Span) Of(b []byte) []byte {
	if s.End == 0 {
		return nil
	}
	return b[s.Start:s.End:s.End]
}

// Doc is what Scan notes of a text.
type Doc struct {
	Type     byte             // first byte of the value: one of {["-0123456789tfn
	Empty    bool             // an array without elements
	Start    int              // offset of the value's first byte
	Repeated Span             // name of the first envelope member that comes twice
	Members  [NumMembers]Span // values of an object's envelope members; of a repeated one the first
}

// Scan checks that b[:n] is exactly one JSON text in valid UTF-8 (RFC 8259),
// with white space around it allowed, and fills in d, which must be zero. The
// fault it returns is the first in the text.
//
// What follows in b must begin with a line end, or be nothing. It lets the
// scanner read whole words without a care for the end of a short line: no
// line goes on behind a LF.
func Scan(b []byte, n int, d *Doc) Fault {
	s := scanner{end: n}
	if s.document(b, d) < 0 {
		return exactFault(b[:n:n])
	}
	if s.seen&highs != 0 && !utf8.Valid(b[:n]) {
		return Fault{InvalidUTF8, InvalidAt(b[:n])}
	}
	return Fault{}
}

// exactFault returns the fault of a text that has one. It is found by reading
// the text again, with nothing behind it.
func exactFault(b []byte) Fault {
	s := scanner{end: len(b)}
	s.text(b)
	// A sequence that is cut off by the end of the text is broken off, too.
	if at := InvalidAt(b); at >= 0 && at <= s.fault.Offset &&
		!(s.fault.Code == Truncated && isCutRune(b[at:])) {
		return Fault{InvalidUTF8, at}
	}
	return s.fault
}

// scanner carries what the recursive functions share. Each of them takes the
// text and an offset and returns the offset behind what it read, or -1 after
// it has noted the fault.
type scanner struct {
	end    int  // where the text ends
	raw    bool // LF is white space: the text is no line
	outer  int  // arrays and objects that the text will lie in
	spaced bool // there is white space between tokens
	fault  Fault
	seen   uint64 // all words of all strings, or'ed: has a top bit set if not all is ASCII
}

func (s *scanner) fail(c Code, at int) int {
	s.fault = Fault{c, at}
	return -1
}

// text reads one text and notes nothing of it.
func (s *scanner) text(b []byte) int {
	return s.nothingElse(b, s.value(b, s.space(b, 0), s.outer))
}

// nothingElse checks that only white space follows a text that ends at b[i],
// or passes its fault on.
func (s *scanner) nothingElse(b []byte, i int) int {
	if i < 0 {
		return -1
	}
	if i = s.space(b, i); i < s.end {
		return s.fail(Trailing, i)
	}
	return i
}

// document reads one text and fills in d.
func (s *scanner) document(b []byte, d *Doc) int {
	i := s.space(b, 0)
	if i >= len(b) {
		return s.fail(Truncated, i)
	}
	d.Start, d.Type = i, b[i]
	switch b[i] {
	case '{':
		i = s.object(b, i, s.outer+1, d)
	case '[':
		j := s.space(b, i+1)
		d.Empty = j < len(b) && b[j] == ']'
		i = s.array(b, i, s.outer+1)
	default:
		i = s.value(b, i, 0)
	}
	return s.nothingElse(b, i)
}

func (d *Doc) note(m Member, value Span, nameAt int) {
	switch {
	case d.Members[m].End == 0:
		d.Members[m] = value
	case d.Repeated.End == 0:
		d.Repeated = Span{nameAt, value.Start}
	}
}

// The usual spellings of the envelope's names, as words.
const (
	wordJSONRPC = 'j'<<8 | 's'<<16 | 'o'<<24 | 'n'<<32 | 'r'<<40 | 'p'<<48 | 'c'<<56 | '"'
	wordMethod  = 'm'<<8 | 'e'<<16 | 't'<<24 | 'h'<<32 | 'o'<<40 | 'd'<<48 | '"'<<56 | '"'
	wordParams  = 'p'<<8 | 'a'<<16 | 'r'<<24 | 'a'<<32 | 'm'<<40 | 's'<<48 | '"'<<56 | '"'
	wordResult  = 'r'<<8 | 'e'<<16 | 's'<<24 | 'u'<<32 | 'l'<<40 | 't'<<48 | '"'<<56 | '"'
	wordID      = 'i'<<8 | 'd'<<16 | '"'<<24 | '"'
)

// member reads the name at b[i] and returns the envelope member that it is, or
// -1. Comparing words first saves a third of the time of a small message.
func (s *scanner) member(b []byte, i int) (Member, int) {
	if i+9 <= len(b) {
		p := b[i : i+9 : i+9]
		switch x := binary.LittleEndian.Uint64(p); {
		case x&0xFFFFFFFF == wordID:
			return ID, i + 4
		case x == wordMethod:
			return Method, i + 8
		case x == wordParams:
			return Params, i + 8
		case x == wordResult:
			return Result, i + 8
		case x == wordJSONRPC && p[8] == '"':
			return JSONRPC, i + 9
		}
	}
	at := i
	if i = s.str(b, i+1); i < 0 {
		return -1, -1
	}
	return lookup(b[at:i]), i
}

// lookup returns the envelope member with the quoted name, or -1. Names
// compare exactly, after unescaping; no escaped spelling of one is longer than
// six bytes for each letter.
func lookup(quoted []byte) Member {
	m := exact(quoted[1 : len(quoted)-1])
	if m < 0 && len(quoted) <= maxName && bytes.IndexByte(quoted, '\\') >= 0 {
		return exact([]byte(Unquote(quoted)))
	}
	return m
}

func exact(name []byte) Member {
	switch string(name) {
	case "id":
		return ID
	case "method":
		return Method
	case "params":
		return Params
	case "result":
		return Result
	case "error":
		return Error
	case "jsonrpc":
		return JSONRPC
	}
	return -1
}

// maxName is the length of "jsonrpc" with each letter spelled \u006a, quoted.
const maxName = 6*len("jsonrpc") + 2

// Unquote returns the text of a JSON string that Scan has passed. A lone
// surrogate escape becomes U+FFFD.
func Unquote(quoted []byte) string {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return ""
	}
	return s
}

// object reads the object at b[i] and notes its envelope members in d, unless
// that is nil. The usual case, without white space, is spelled out here.
func (s *scanner) object(b []byte, i, depth int, d *Doc) int {
	i = s.space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i < len(b) && b[i] == '"' {
		nameAt, m := i, Member(-1)
		if d != nil {
			m, i = s.member(b, i)
		} else {
			i = s.str(b, i+1)
		}
		if i < 0 {
			return -1
		}
		if i+1 < len(b) && b[i] == ':' && b[i+1] > ' ' {
			i++
		} else if i = s.colon(b, i); i < 0 {
			return -1
		}
		valueAt := i
		if i = s.value(b, i, depth); i < 0 {
			return -1
		}
		if m >= 0 {
			d.note(m, Span{valueAt, i}, nameAt)
		}
		i = s.space(b, i)
		if i >= len(b) || b[i] != ',' {
			return s.closing(b, i, '}')
		}
		i = s.space(b, i+1)
	}
	return s.stray(b, i)
}

func (s *scanner) array(b []byte, i, depth int) int {
	i = s.space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(b, i, depth); i < 0 {
			return -1
		}
		i = s.space(b, i)
		if i >= len(b) || b[i] != ',' {
			return s.closing(b, i, ']')
		}
		i = s.space(b, i+1)
	}
}

// closing reads the bracket c.
func (s *scanner) closing(b []byte, i int, c byte) int {
	if i < len(b) && b[i] == c {
		return i + 1
	}
	return s.stray(b, i)
}

// stray notes that b[i] cannot stand there.
func (s *scanner) stray(b []byte, i int) int {
	if i >= len(b) {
		return s.fail(Truncated, i)
	}
	return s.fail(Unexpected, i)
}

// colon returns the offset of the value behind the colon.
func (s *scanner) colon(b []byte, i int) int {
	i = s.space(b, i)
	if i >= len(b) || b[i] != ':' {
		return s.stray(b, i)
	}
	return s.space(b, i+1)
}

// value reads the value at b[i], which lies in depth arrays and objects.
func (s *scanner) value(b []byte, i, depth int) int {
	if i >= len(b) {
		return s.fail(Truncated, i)
	}
	switch c := b[i]; {
	case c == '"':
		return s.str(b, i+1)
	case isDigit(c) || c == '-':
		return s.number(b, i)
	case c == '{' || c == '[':
		if depth++; depth > MaxDepth {
			return s.fail(TooDeep, i)
		}
		if c == '{' {
			return s.object(b, i, depth, nil)
		}
		return s.array(b, i, depth)
	}
	return s.literal(b, i)
}

// space returns the offset of the first byte at or after i that is not white
// space.
func (s *scanner) space(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		return s.skipSpace(b, i)
	}
	return i
}

func (s *scanner) skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' && s.raw) {
		s.spaced = true
		i++
	}
	return i
}

// literal reads true, false or null.
func (s *scanner) literal(b []byte, i int) int {
	var want string
	switch b[i] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	case 'n':
		want = "null"
	default:
		return s.fail(Unexpected, i)
	}
	if end := i + len(want); end <= len(b) && string(b[i:end]) == want {
		return end
	}
	if rest := b[i:]; len(rest) < len(want) && string(rest) == want[:len(rest)] {
		return s.fail(Truncated, len(b))
	}
	return s.fail(BadLiteral, i)
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, RFC 8259
// section 6.
func (s *scanner) number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = s.digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = s.digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return s.digits(b, i)
	}
	return i
}

// digits reads one digit or more.
func (s *scanner) digits(b []byte, i int) int {
	if i >= len(b) {
		return s.fail(Truncated, i)
	}
	if !isDigit(b[i]) {
		return s.fail(BadNumber, i)
	}
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// InvalidAt returns the offset of the first byte of b that is not UTF-8, or -1.
func InvalidAt(b []byte) int {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// isCutRune reports whether b is a proper beginning of a UTF-8 sequence.
func isCutRune(b []byte) bool { return len(b) < utf8.UTFMax && !utf8.FullRune(b) }
