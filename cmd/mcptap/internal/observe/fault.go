package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"example.com/mcp/framing"
)

// The classes of bad lines, as records and summaries name them.
const (
	ClassSyntax     = "syntax"
	ClassUTF8       = "utf-8"
	ClassTooLong    = "too-long"
	ClassUnfinished = "unfinished"
	ClassInvalid    = "invalid"
)

// Classes lists them in the order of summaries.
var Classes = []string{ClassSyntax, ClassUTF8, ClassTooLong, ClassUnfinished, ClassInvalid}

func classOf(err error) string {
	switch {
	case errors.Is(err, framing.ErrTooLong):
		return ClassTooLong
	case errors.Is(err, framing.ErrInvalidMessage):
		return ClassInvalid
	case errors.Is(err, framing.ErrInvalidUTF8):
		return ClassUTF8
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ClassUnfinished
	}
	return ClassSyntax
}

// fault describes the bad line m.
func (s *Scanner) fault(m framing.Message, n names) *Fault {
	f := &Fault{Class: classOf(m.Err), Reason: m.Err.Error()}
	var le *framing.LineError
	if errors.As(m.Err, &le) {
		f.Reason, f.Offset = le.Reason, le.Offset
	}
	f.Sort = sortOf(m.Line, f.Class, n)
	line := m.Line
	if s.Redact {
		line = new(Redactor).Mask(nil, line)
		if m.Kind == framing.Malformed {
			f.Reason = maskQuoted(f.Reason)
		}
	}
	f.Excerpt, f.Caret = Excerpt(line, f.Offset)
	return f
}

// maskQuoted masks what stands in quotes in a reason: it may be a piece of
// the line.
func maskQuoted(reason string) string {
	masked := []byte(reason)
	quote := byte(0)
	for i := 0; i < len(masked); i++ {
		switch c := masked[i]; {
		case quote != 0 && c == '\\':
			i++
		case c == '"' || c == '\'':
			if quote == 0 {
				quote = c
			} else if quote == c {
				quote = 0
			}
		case quote != 0:
			masked[i] = maskText(c)
		}
	}
	return string(masked)
}

// sortOf returns the finding that the bad line leads to. It judges by the
// bytes, not by the wording of a Reason.
func sortOf(line []byte, class string, n names) Code {
	switch class {
	case ClassTooLong:
		return TooLong
	case ClassInvalid:
		if n.repeated != "" {
			return RepeatedMember
		}
		return NotJSONRPC
	}
	text := bytes.TrimLeft(line, " \t\r")
	switch {
	case looksUTF16(line):
		return UTF16
	case bytes.HasPrefix(text, []byte("\xEF\xBB\xBF")):
		return BOM
	case isLSPHeader(text):
		return LSPFraming
	case class == ClassUTF8:
		return InvalidUTF8
	}
	return sortOfSyntax(text)
}

// sortOfSyntax returns the finding for a line that is no JSON, white space
// before it cut off.
func sortOfSyntax(text []byte) Code {
	if !startsMessage(text) {
		return Text
	}
	texts, rest := splitTexts(text)
	switch {
	case len(texts) == 0:
		return BadJSON
	case isLSPHeader(rest):
		return LSPFraming
	case len(rest) == 0 || startsMessage(rest):
		return TwoMessages
	}
	return Text
}

// startsMessage reports whether text, white space before it cut off, begins
// as an object or an array does. "[INFO] ready" does not.
func startsMessage(text []byte) bool {
	if len(text) == 0 || text[0] == '{' {
		return len(text) > 0
	}
	if text[0] != '[' {
		return false
	}
	inner := bytes.TrimLeft(text[1:], " \t\r")
	return len(inner) == 0 || bytes.IndexByte([]byte(`{["]`), inner[0]) >= 0
}

// isLSPHeader reports whether text is a header of the Language Server
// Protocol's framing, which some take for that of MCP.
func isLSPHeader(text []byte) bool {
	for _, header := range []string{"content-length:", "content-type:"} {
		if len(text) >= len(header) && bytes.EqualFold(text[:len(header)], []byte(header)) {
			return true
		}
	}
	return false
}

// looksUTF16 reports whether line has UTF-16's byte order mark, or as many
// NULs as ASCII text in UTF-16 has. A line after the first begins with the
// second half of a newline and may be cut short, hence "a third".
func looksUTF16(line []byte) bool {
	if bytes.HasPrefix(line, []byte("\xFF\xFE")) || bytes.HasPrefix(line, []byte("\xFE\xFF")) {
		return true
	}
	head := line[:min(len(line), 1024)]
	return bytes.Count(head, []byte{0})*3 >= len(head) && len(head) > 0
}

// textsOf returns the JSON texts on a bad line that holds several.
func textsOf(m framing.Message, sort Code) [][]byte {
	switch sort {
	case TwoMessages, LSPFraming:
		texts, _ := splitTexts(m.Line)
		return texts
	}
	return nil
}

// splitTexts returns the whole JSON texts that line begins with and what
// comes after them.
func splitTexts(line []byte) (texts [][]byte, rest []byte) {
	d := json.NewDecoder(bytes.NewReader(line))
	for len(texts) < maxItems {
		var text json.RawMessage
		from := d.InputOffset()
		if d.Decode(&text) != nil {
			return texts, bytes.TrimLeft(line[from:], " \t\r")
		}
		texts = append(texts, text)
	}
	return texts, bytes.TrimLeft(line[d.InputOffset():], " \t\r")
}
