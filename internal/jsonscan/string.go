package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// str reads the string whose opening quote is at b[i-1]. Most names and many
// values end within two words.
func (s *scanner) str(b []byte, i int) int {
	if i+16 <= len(b) {
		x, y := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
		s.seen |= x | y
		m := marks(special(x)) | marks(special(y))<<8
		if m == 0 {
			return s.longStr(b, i+16)
		}
		if i += bits.TrailingZeros64(m); b[i] == '"' {
			return i + 1
		}
	}
	return s.longStr(b, i)
}

// near is how close two escapes are, in bytes, for dense to pay.
const near = 64

// longStr reads on in a string, from b[i].
func (s *scanner) longStr(b []byte, i int) int {
	last := i // about where the last escape was
	for {
		if i = s.plain(b, i); i >= len(b) {
			return s.fail(Truncated, i)
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			gap := i - last
			if i = s.escape(b, i); i < 0 {
				return -1
			}
			if last = i; gap < near {
				i = s.dense(b, i)
				last = i - near
			}
		default:
			return s.fail(BadControl, i)
		}
	}
}

// dense reads whole words of a string in which escapes stand close together,
// as in code, where a branch at each of them would be missed half the time. It
// stops before a word with anything but text and the usual escapes in it, or
// after some words without escapes, and never inside an escape.
func (s *scanner) dense(b []byte, i int) int {
	const low = ^uint64(highs)
	var carry, seen uint64
	for quiet := 0; i+8 <= len(b) && quiet < near/8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		// In the words not…, a top bit is set where the byte differs, or is no ASCII.
		x7 := x & low
		notSlash := (x7 ^ '\\'*ones) + low | x
		notQuote := (x7 ^ '"'*ones) + low | x
		notCode := ((x7^'n'*ones)+low)&((x7^'t'*ones)+low)&((x7^'r'*ones)+low) | x
		slash := ^notSlash & highs
		starts := slash &^ carry
		code := ((starts<<8 | odd) - starts) ^ odd
		escaped := code ^ (slash | carry)
		control := (x - 0x20*ones) &^ x
		if (^notQuote&^escaped|control|escaped&notSlash&notQuote&notCode)&highs != 0 {
			break
		}
		seen |= x
		carry = (code & slash) >> 56
		quiet++
		if slash != 0 {
			quiet = 0
		}
	}
	s.seen |= seen
	return i - int(carry>>7)
}

const odd = 0x8000800080008000 // the top bit of each odd byte

// escape reads the escape at b[i], RFC 8259 section 7.
func (s *scanner) escape(b []byte, i int) int {
	if i+1 >= len(b) {
		return s.fail(Truncated, i+1)
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		return s.hex(b, i)
	}
	return s.fail(BadEscape, i)
}

func (s *scanner) hex(b []byte, i int) int {
	for k := i + 2; k < i+6; k++ {
		if k >= len(b) {
			return s.fail(Truncated, k)
		}
		if c := b[k]; !isDigit(c) && (c|0x20)-'a' > 5 {
			return s.fail(BadEscape, i)
		}
	}
	return i + 6
}

const (
	ones  = 0x0101010101010101 // one in each byte
	highs = 0x8080808080808080 // the top bit of each byte
)

// special returns a word whose lowest set top bit marks the first byte of x
// that is a quote, a backslash or below 0x20.
//
// (y - n) &^ y has the top bit of a byte set where the byte is below n and
// below 0x80. With y = x^0x02 the controls stay below 0x20 and the quote, 0x22,
// becomes 0x20, so one test for "below 0x21" finds both; 0x20, the space,
// becomes 0x22. The subtraction borrows from the next byte up, so a byte above
// a true hit can be marked falsely, never one below it: the lowest mark is
// exact, and no mark means none.
func special(x uint64) uint64 {
	y := x ^ 0x02*ones
	z := x ^ '\\'*ones
	return ((y-0x21*ones)&^y | (z-ones)&^z) & highs
}

// marks gathers the top bits of the bytes of m, which has no others, in the
// lowest byte: the multiplication moves bit 8k to bit 56+k, for all k at once.
func marks(m uint64) uint64 { return (m >> 7) * 0x0102040810204080 >> 56 }

// plain returns the offset of the first quote, backslash or byte below 0x20
// in b[i:], or len(b). Four words a step are twice as fast as one.
func (s *scanner) plain(b []byte, i int) int {
	var seen uint64
	for ; i+32 <= len(b); i += 32 {
		p := b[i : i+32]
		w, x := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		y, z := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		seen |= w | x | y | z
		w, x, y, z = special(w), special(x), special(y), special(z)
		if w|x|y|z != 0 {
			s.seen |= seen
			m := marks(w) | marks(x)<<8 | marks(y)<<16 | marks(z)<<24
			return i + bits.TrailingZeros64(m)
		}
	}
	for ; i < len(b); i++ {
		c := b[i]
		seen |= uint64(c)
		if c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	s.seen |= seen
	return i
}

func isASCII(b []byte) bool {
	for ; len(b) >= 32; b = b[32:] {
		w, x := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		y, z := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		if (w|x|y|z)&highs != 0 {
			return false
		}
	}
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&highs != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
