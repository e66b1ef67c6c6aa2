package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Explain puts the fault that Scan has found in the line b into words, for the
// person who looks for its cause. At the end of the stream a line may lack its
// newline.
func Explain(b []byte, f Fault, eof bool) string {
	if reason := explainEncoding(b); reason != "" {
		return reason
	}
	at := f.Offset
	switch f.Code {
	case Truncated:
		return explainTruncated(eof)
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

func explainTruncated(eof bool) string {
	if eof {
		return "the stream ends inside a JSON text"
	}
	return "the line ends inside a JSON text; a message broken over several lines?"
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
		return fmt.Sprintf("%q after a complete JSON text; a piece of a message broken over several lines?", c)
	}
	if reason := explainForeign(rest); reason != "" {
		return reason
	}
	return fmt.Sprintf("text after the JSON: %s; a log line?", quote(rest, 40))
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
		return fmt.Sprintf("%q is no value of JSON; a log line?", w)
	}
	return fmt.Sprintf("unexpected %s after %s", char(b[at:]), quote(before[max(0, len(before)-12):], 12))
}

// explainStart explains a line that does not start with a value.
func explainStart(b []byte) string {
	if reason := explainForeign(b); reason != "" {
		return reason
	}
	if c := b[0]; c == '}' || c == ']' || c == ',' || c == ':' {
		return fmt.Sprintf("%q at the start; a piece of a message broken over several lines?", c)
	}
	if i := bytes.IndexByte(b, '{'); i >= 0 && isJSON(b[i:]) {
		return fmt.Sprintf("text before the JSON: %s; a log line without a newline?", quote(b[:i], 40))
	}
	return fmt.Sprintf("text, not JSON: %s; a log line?", quote(b, 40))
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
