package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Whole says what the bytes are that Explain is given.
type Whole int

const (
	Line     Whole = iota
	LastLine       // of the stream, without its newline
	Value          // no line, but raw JSON that a program wants to write
)

// What a bad line may come from.
const (
	brokenUp = "; a message broken over several lines?"
	piece    = "; a piece of a message broken over several lines?"
	logLine  = "; a log line?"
	logText  = "; a log line without a newline?"
)

// Explain puts the fault that has been found in b into words, for the person
// who looks for its cause, which for a line it guesses.
func Explain(b []byte, f Fault, whole Whole) string {
	if whole != Value {
		if reason := explainEncoding(b); reason != "" {
			return reason
		}
		return explain(b, f, whole)
	}
	reason := explain(b, f, whole)
	for _, guess := range []string{brokenUp, piece, logLine, logText} {
		reason = strings.TrimSuffix(reason, guess)
	}
	return reason
}

func explain(b []byte, f Fault, whole Whole) string {
	at := f.Offset
	switch f.Code {
	case Truncated:
		return explainTruncated(b, whole)
	case Trailing:
		return explainTrailing(b, at)
	case BadControl:
		return fmt.Sprintf("a raw control character %U in a string; it has to be escaped", b[at])
	case BadEscape:
		return fmt.Sprintf("%s is not an escape of JSON", quote(b[at:], 6))
	case TooDeep:
		return fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	case InvalidUTF8:
		return fmt.Sprintf("byte 0x%02X is not UTF-8", b[at])
	}
	return explainUnexpected(b, at)
}

// explainEncoding looks for what a whole line shows.
func explainEncoding(b []byte) string {
	switch {
	case isUTF16(b):
		return "UTF-16 text; messages are UTF-8"
	case bytes.HasPrefix(b, []byte("\uFEFF")):
		return "a byte order mark (U+FEFF) in mid-stream"
	case hasPrefixFold(b, "Content-Length:") || hasPrefixFold(b, "Content-Type:"):
		return `a header as in LSP ("Content-Length" framing); here each message is one line without headers`
	}
	return ""
}

// isUTF16 reports whether b starts with UTF-16's byte order mark or with two
// ASCII characters in UTF-16.
func isUTF16(b []byte) bool {
	if len(b) >= 2 && (b[0] == 0xFF && b[1] == 0xFE || b[0] == 0xFE && b[1] == 0xFF) {
		return true
	}
	return len(b) >= 4 && (b[0] == 0 && b[2] == 0 && b[1] != 0 && b[3] != 0 ||
		b[1] == 0 && b[3] == 0 && b[0] != 0 && b[2] != 0)
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

func explainTruncated(b []byte, whole Whole) string {
	switch {
	case whole == LastLine:
		return "the stream ends inside a JSON text"
	case whole == Line:
		return "the line ends inside a JSON text" + brokenUp
	case len(bytes.TrimSpace(b)) == 0:
		return "there is nothing but white space"
	}
	return "it ends inside a JSON text"
}

// explainTrailing explains what follows a complete text.
func explainTrailing(b []byte, at int) string {
	rest, last := b[at:], b[at-1]
	switch c := rest[0]; {
	case isDigit(c) && isDigit(last):
		return "a number with a leading zero"
	case c == '{' || c == '[' || isJSON(rest):
		return "two JSON texts on one line"
	case c == '}' || c == ']':
		return fmt.Sprintf("one %q too many", c)
	case c == ':' || c == ',':
		return fmt.Sprintf("%q after a complete JSON text"+piece, c)
	}
	if reason := explainForeign(rest); reason != "" {
		return reason
	}
	return fmt.Sprintf("text after the JSON: %s"+logLine, quote(rest, 40))
}

// explainUnexpected explains a byte that cannot stand where it stands.
func explainUnexpected(b []byte, at int) string {
	before := bytes.TrimRight(b[:at], " \t\r\n")
	if len(before) == 0 {
		return explainStart(b[at:])
	}
	c, last := b[at], before[len(before)-1]
	switch {
	case last == ',' && (c == '}' || c == ']'):
		return fmt.Sprintf("a comma before %q", c)
	case isDigit(c) && last == '0':
		return "a number with a leading zero"
	}
	if reason := explainForeign(b[at:]); reason != "" {
		return reason
	}
	w := word(b[at:])
	switch {
	case w != "" && (last == '{' || last == ','):
		return fmt.Sprintf("%q without quotes", w)
	case w != "":
		return fmt.Sprintf("%q is no value of JSON"+logLine, w)
	}
	return fmt.Sprintf("unexpected %s after %s", char(b[at:]), quote(before[max(0, len(before)-12):], 12))
}

// explainStart explains a line that does not start with a value.
func explainStart(b []byte) string {
	if reason := explainForeign(b); reason != "" {
		return reason
	}
	if c := b[0]; c == '}' || c == ']' || c == ',' || c == ':' {
		return fmt.Sprintf("%q at the start"+piece, c)
	}
	if i := bytes.IndexByte(b, '{'); i >= 0 && isJSON(b[i:]) {
		return fmt.Sprintf("text before the JSON: %s"+logText, quote(b[:i], 40))
	}
	return fmt.Sprintf("text, not JSON: %s"+logLine, quote(b, 40))
}

// explainForeign explains a value that other notations have and JSON has not.
func explainForeign(b []byte) string {
	w := word(bytes.TrimPrefix(b, []byte("-")))
	switch strings.ToLower(w) {
	case "nan", "inf", "infinity":
		return fmt.Sprintf("%s is no number of JSON (NaN and Infinity are not allowed)", w)
	case "true", "false":
		return fmt.Sprintf("%s is spelled %s in JSON", w, strings.ToLower(w))
	case "none", "undefined", "null", "nil":
		return fmt.Sprintf("%s is spelled null in JSON", w)
	}
	switch {
	case b[0] == '\'':
		return "single quotes; strings of JSON have double quotes"
	case b[0] == '+' || b[0] == '.':
		return fmt.Sprintf("a number of JSON does not start with %q", b[0])
	case bytes.HasPrefix(b, []byte("//")) || bytes.HasPrefix(b, []byte("/*")):
		return "a comment; JSON has none"
	}
	return ""
}

// word returns the letters that b starts with, up to 16 of them.
func word(b []byte) string {
	n := 0
	for n < len(b) && n < 16 && (b[n]|0x20)-'a' < 26 {
		n++
	}
	return string(b[:n])
}

// char returns the first character of b, quoted.
func char(b []byte) string {
	if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("byte 0x%02X", b[0])
}

// quote returns the first n bytes of b, quoted.
func quote(b []byte, n int) string {
	if len(b) > n {
		return fmt.Sprintf("%q…", b[:n])
	}
	return fmt.Sprintf("%q", b)
}
