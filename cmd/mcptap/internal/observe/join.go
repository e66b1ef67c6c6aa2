package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"example.com/mcp/framing"
)

// A message broken over several lines is put together again only up to these
// limits; beyond them its lines count singly.
const (
	maxJoinBytes = 1 << 20
	maxJoinLines = 5000
)

// A joiner watches the lines of one direction for a message that its writer
// broke over several: pretty-printed, or with a raw newline in a string.
type joiner struct {
	first int    // line where the candidate began; 0: there is none
	lines int    // its lines
	buf   []byte // those lines, joined
	depth int    // open brackets at the end of buf
	str   bool   // and whether it ends inside a string
}

func (j *joiner) reset() { *j = joiner{buf: j.buf[:0]} }

// blank takes a blank line: inside a string it is part of the text.
func (j *joiner) blank() {
	if j.first != 0 {
		j.newline()
	}
}

// newline stands for the line break: white space between two tokens, and
// inside a string what the writer should have escaped.
func (j *joiner) newline() {
	if j.str {
		j.buf = append(j.buf, '\\', 'n')
	} else {
		j.buf = append(j.buf, ' ')
	}
}

// add takes the line that is number n. It returns the number of the line where
// a message began that this line may be part of, or 0, and the whole message
// if this line completes it; whole is valid until the next call.
func (j *joiner) add(n int, m framing.Message) (first int, whole []byte) {
	switch {
	case m.Kind >= framing.Request && m.Kind <= framing.Response, errors.Is(m.Err, framing.ErrTooLong):
		j.reset()
		return 0, nil
	case j.first == 0 && !opens(m):
		return 0, nil
	case j.first == 0:
		j.reset()
		j.first = n
	default:
		j.newline()
	}
	if first, whole = j.extend(m.Line); first == 0 || whole != nil {
		j.reset()
	}
	return first, whole
}

// extend appends a line to the candidate and looks whether that ends it.
func (j *joiner) extend(line []byte) (first int, whole []byte) {
	j.lines++
	if j.lines > maxJoinLines || len(j.buf)+len(line) > maxJoinBytes {
		return 0, nil
	}
	j.buf = append(j.buf, line...)
	j.track(line)
	switch {
	case j.depth > 0:
		return j.first, nil
	case j.lines > 1 && json.Valid(j.buf):
		return j.first, j.buf
	}
	return 0, nil
}

// opens reports whether m breaks off inside an object or array that is good
// so far.
func opens(m framing.Message) bool {
	text := bytes.TrimLeft(m.Line, " \t\r")
	if m.Kind != framing.Malformed || len(text) == 0 || text[0] != '{' && text[0] != '[' || len(text) > maxJoinBytes {
		return false
	}
	_, err := decodeOne(text)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

func decodeOne(text []byte) (json.RawMessage, error) {
	var raw json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&raw)
	return raw, err
}

// track follows brackets and strings through line.
func (j *joiner) track(line []byte) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case j.str && c == '\\':
			i++
		case c == '"':
			j.str = !j.str
		case j.str:
		case strings.IndexByte("{[", c) >= 0:
			j.depth++
		case strings.IndexByte("}]", c) >= 0:
			j.depth--
		}
	}
}
