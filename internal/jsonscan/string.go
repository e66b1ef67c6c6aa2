package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// str reads the string whose opening quote is at b[i-1]. Most names and many
// values end within two words. Where the next string begins hangs on this
// one's end, so what counts is the way from i to i: a slice with its capacity
// given needs no arithmetic for the address, which makes tool schemas a sixth
// faster.
func (s *scanner) str(b []byte, i int) int {
	if i+16 <= len(b) {
		p := b[i : i+16 : i+16]
		x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		s.seen |= x | y
		first, second := special(x), special(y)
		if first|second == 0 {
			return s.longStr(b, i+16)
		}
		at := bits.TrailingZeros64(second)/8 + 8
		if first != 0 {
			at = bits.TrailingZeros64(first) / 8
		}
		if i += at; b[i] == '"' {
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
				if i = s.dense(b, i); i < 0 {
					return -1
				}
				last = i - near
			}
		default:
			return s.fail(BadControl, i)
		}
	}
}

// dense reads whole blocks of a string in which escapes stand close together,
// as in code, where a branch at each backslash would be missed half the time:
// twice as fast as plain from escape to escape. It stops at the first byte that
// is a quote or below 0x20, behind a block without escapes, and before a rest
// that is shorter than a block. What it returns is never inside an escape.
func (s *scanner) dense(b []byte, i int) int {
	var inside, seen uint64 // inside is 1 if the last byte was a backslash that escapes the next
	for ; i+64 <= len(b); i += 64 {
		p := b[i : i+64 : i+64]
		t, u := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		v, w := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		x, y := binary.LittleEndian.Uint64(p[32:]), binary.LittleEndian.Uint64(p[40:])
		z, a := binary.LittleEndian.Uint64(p[48:]), binary.LittleEndian.Uint64(p[56:])
		seen |= t | u | v | w | x | y | z | a
		stop := stops(t) | stops(u)<<8 | stops(v)<<16 | stops(w)<<24 |
			stops(x)<<32 | stops(y)<<40 | stops(z)<<48 | stops(a)<<56
		slash := slashes(t) | slashes(u)<<8 | slashes(v)<<16 | slashes(w)<<24 |
			slashes(x)<<32 | slashes(y)<<40 | slashes(z)<<48 | slashes(a)<<56

		var escaped uint64
		escaped, inside = escapes(slash, inside)
		stop &^= escaped
		if stop != 0 {
			escaped &= stop&-stop - 1
		}
		for ; escaped != 0; escaped &= escaped - 1 {
			at := bits.TrailingZeros64(escaped) & 63
			if !isShort[p[at]] && s.escape(b, i+at-1) < 0 {
				return -1
			}
		}
		if stop != 0 || slash == 0 {
			s.seen |= seen
			return i + bits.TrailingZeros64(stop)
		}
	}
	s.seen |= seen
	return i - int(inside)
}

// escapes returns which of 64 bytes are escaped, one bit each, and 1 if the byte
// behind them is. slash marks the backslashes; inside is 1 if the first byte is
// escaped.
//
// In a run of backslashes every second one escapes. A run begins where a
// backslash stands that is not escaped; subtracting its first bit from the odd
// bits makes the bits alternate from there to the end of the run.
func escapes(slash, inside uint64) (escaped, insideNext uint64) {
	const odd = 0xAAAAAAAAAAAAAAAA
	first := slash &^ inside
	code := ((first<<1 | odd) - first) ^ odd
	return code ^ (slash | inside), (code & slash) >> 63
}

// isShort has the bytes that may follow a backslash, but for the u.
var isShort = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// stops returns a bit for each byte of x that is a quote or below 0x20, and
// slashes for each backslash. Unlike special they are exact in every byte: with
// the top bits cleared no byte's sum carries into the next one's. The
// exclusive or with 0x02 brings the quote down to 0x20, next to the controls.
func stops(x uint64) uint64 {
	const beyond = (0x80 - 0x21) * ones // takes what is not below 0x21 to the top bit
	return marks(^((x&^highs ^ 0x02*ones) + beyond | x) & highs)
}

func slashes(x uint64) uint64 {
	return marks(^((x&^highs ^ '\\'*ones) + ^uint64(highs) | x) & highs)
}

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
		p := b[i : i+32 : i+32]
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
