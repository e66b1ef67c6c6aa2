package jsonscan

import (
	"bytes"
	"unicode/utf8"
)

// AppendCompact appends the JSON text src to dst as it may stand in a frame:
// without white space between tokens and cleaned as AppendClean does. If src
// is not one JSON text, it returns dst as it was and the fault. Broken UTF-8 in
// strings is no fault. The text will lie in depth arrays and objects, which
// count towards MaxDepth.
func AppendCompact(dst, src []byte, depth int) ([]byte, Fault) {
	s := scanner{end: len(src), raw: true, outer: depth}
	if s.text(src) < 0 {
		return dst, s.fault
	}
	switch {
	case s.spaced:
	case s.seen&highs == 0: // all of it is ASCII
		return append(dst, src...), Fault{}
	default:
		return AppendClean(dst, src), Fault{}
	}
	for i := 0; i < len(src); {
		if src[i] == '"' {
			end := s.str(src, i+1)
			dst = AppendClean(dst, src[i:end])
			i = end
			continue
		}
		n := tokenEnd(src[i:])
		dst = append(dst, src[i:i+n]...)
		i = s.skipSpace(src, i+n)
	}
	return dst, Fault{}
}

// tokenEnd returns how many bytes of b precede the next string or white space.
func tokenEnd(b []byte) int {
	for i, c := range b {
		if c <= ' ' || c == '"' {
			return i
		}
	}
	return len(b)
}

// AppendClean appends the JSON text src to dst with broken UTF-8 replaced by
// U+FFFD and with the characters escaped at which some peers split lines, as
// Unicode does: U+2028, U+2029 and U+0085.
func AppendClean(dst, src []byte) []byte {
	if IsClean(src) {
		return append(dst, src...)
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		switch r {
		case '\u2028', '\u2029':
			dst = append(dst, `\u202`...)
			dst = append(dst, '8'+byte(r-'\u2028'))
		case '\u0085':
			dst = append(dst, `\u0085`...)
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// IsClean reports whether AppendClean would append b unchanged.
func IsClean(b []byte) bool { return isASCII(b) || utf8.Valid(b) && !hasBreak(b) }

// hasBreak reports whether b, valid UTF-8, has one of the characters that
// AppendClean escapes: C2 85, E2 80 A8 or E2 80 A9.
func hasBreak(b []byte) bool { return hasBreakAfter(b, 0xC2) || hasBreakAfter(b, 0xE2) }

func hasBreakAfter(b []byte, lead byte) bool {
	for {
		i := bytes.IndexByte(b, lead)
		if i < 0 {
			return false
		}
		if isBreak(b[i:]) {
			return true
		}
		b = b[i+1:]
	}
}

// isBreak reports whether b begins with a character that AppendClean escapes.
func isBreak(b []byte) bool {
	return len(b) >= 2 && b[0] == 0xC2 && b[1] == 0x85 ||
		len(b) >= 3 && b[0] == 0xE2 && b[1] == 0x80 && b[2]&^1 == 0xA8
}
