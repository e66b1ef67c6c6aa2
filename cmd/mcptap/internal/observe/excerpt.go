package observe

import (
	"fmt"
	"unicode/utf8"
)

// An excerpt shows at most excerptBefore columns before the spot and is
// excerptWidth wide, cut marks not counted, so that with a margin it fits 80
// columns.
const (
	excerptBefore = 30
	excerptWidth  = 66
)

// Excerpt returns the part of line around the byte at offset and the column
// of that byte in it. Only printable ASCII is left as it is: the rest is
// escaped, so that every column is one byte, the caret stands right whatever
// the terminal makes of tabs, wide or joined characters, and a server's output
// cannot steer the terminal.
func Excerpt(line []byte, offset int) (text string, caret int) {
	offset = max(0, min(offset, len(line)))
	from := runeStart(line, max(0, offset-excerptBefore))
	at := runeStart(line, offset)
	before := printable(line[from:at], 1<<30)
	if cut := len(before) - excerptBefore; from > 0 || cut > 0 {
		before = "..." + before[max(0, cut):]
	}
	after := printable(line[at:], excerptWidth-len(before))
	return before + after, len(before)
}

// runeStart moves i back to the start of the character that it is in.
func runeStart(line []byte, i int) int {
	for back := 0; back < utf8.UTFMax && i-back >= 0 && i < len(line); back++ {
		if _, size := utf8.DecodeRune(line[i-back:]); utf8.RuneStart(line[i-back]) {
			if size > back {
				return i - back
			}
			return i
		}
	}
	return i
}

// Printable returns b as printable ASCII, at most columns of it, with "..." at
// the end where something was cut off.
func Printable(b []byte, columns int) string { return printable(b, columns) }

func printable(b []byte, columns int) string {
	out := make([]byte, 0, min(len(b), columns)+3)
	for len(b) > 0 {
		n := len(out)
		var size int
		out, size = appendPrintable(out, b)
		if len(out) > columns {
			return string(out[:n]) + "..."
		}
		b = b[size:]
	}
	return string(out)
}

// appendPrintable appends the first character of b, escaped unless it is
// printable ASCII, and returns its length in b.
func appendPrintable(dst, b []byte) ([]byte, int) {
	r, size := utf8.DecodeRune(b)
	switch {
	case r >= 0x20 && r < 0x7F:
		return append(dst, byte(r)), 1
	case r == '\t':
		return append(dst, `\t`...), 1
	case r == '\r':
		return append(dst, `\r`...), 1
	case r < 0x80, r == utf8.RuneError && size == 1:
		return fmt.Appendf(dst, `\x%02x`, b[0]), 1
	case r < 0x10000:
		return fmt.Appendf(dst, `\u%04x`, r), size
	}
	return fmt.Appendf(dst, `\U%08x`, r), size
}
