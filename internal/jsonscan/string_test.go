package jsonscan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// strSlowly is the plain loop that str has to agree with: it returns the offset
// behind the string whose opening quote is at b[i-1], or -1 and the fault.
func strSlowly(b []byte, i int) (int, Fault) {
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, Fault{}
		case c < 0x20:
			return -1, Fault{BadControl, i}
		case c == '\\' && i+1 == len(b):
			return -1, Fault{Truncated, len(b)}
		case c == '\\' && b[i+1] == 'u':
			for k := i + 2; k < i+6; k++ {
				if k >= len(b) {
					return -1, Fault{Truncated, len(b)}
				}
				if !strings.ContainsRune("0123456789abcdefABCDEF", rune(b[k])) {
					return -1, Fault{BadEscape, i}
				}
			}
			i += 5
		case c == '\\':
			if !strings.ContainsRune(`"\/bfnrt`, rune(b[i+1])) {
				return -1, Fault{BadEscape, i}
			}
			i++
		}
	}
	return -1, Fault{Truncated, len(b)}
}

// checkStr reads the string that begins at text[0], once with nothing behind
// the text and once with more than a step of the kernel.
func checkStr(t *testing.T, text []byte) {
	t.Helper()
	want, wantFault := strSlowly(text, 0)
	s := scanner{end: len(text)}
	if got := s.str(text, 0); got != want || s.fault != wantFault {
		t.Errorf("str(%q) = %d, %v, want %d, %v", text, got, s.fault, want, wantFault)
	}
	if want < 0 {
		return
	}
	if high := bytes.ContainsFunc(text[:want], func(r rune) bool { return r >= 0x80 }); high && s.seen&highs == 0 {
		t.Errorf("str(%q) has not seen the byte above 0x7F", text)
	}
	more := append(bytes.Clone(text), "\n\"\\\x00\"\\u12\"\\\\\\\"abcdefghijklmnopqrstuvwxyz\"0123456789\""...)
	s = scanner{end: len(text)}
	if got := s.str(more, 0); got != want {
		t.Errorf("str(%q, and more) = %d, want %d", text, got, want)
	}
}

var stringPieces = []string{
	``, `a`, `\n`, `\"`, `\\`, `\/`, `\b\f\r\t`, `\u00e9`, `\uD83d\ude00`, `\x`, `\`, `\u12g4`, `\u12`, `"`, "\x00", "\x1f", " ", "\x7f",
	"\x80", "\xff", "é", "漢", "\u2028", `\\\"`, `\\\\`, `\n\n\n\n`, `\t\t\"a\"`, strings.Repeat("x", 40), strings.Repeat(`ab\n`, 40),
	strings.Repeat(`\\`, 17), strings.Repeat(`\"`, 17) + `\`,
}

// Every piece, behind a beginning of every length up to three steps of the
// kernel, plain or with escapes.
func TestStr(t *testing.T) {
	for n := range 3 * 64 {
		plain, dense := strings.Repeat("a", n), strings.Repeat(`\na`, n/3)
		for _, piece := range stringPieces {
			for _, end := range []string{`"`, ``, `\n"`, strings.Repeat("b", 70) + `"`} {
				checkStr(t, []byte(plain+piece+end))
				checkStr(t, []byte(dense+plain[:n%3]+piece+end))
			}
		}
	}
}

func FuzzStr(f *testing.F) {
	for _, piece := range stringPieces {
		f.Add([]byte(piece+`"`), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, times uint8) {
		checkStr(t, append(bytes.Repeat(text, int(times%64)), '"'))
		checkStr(t, append(bytes.Repeat([]byte(`\"`), int(times)), text...))
	})
}

// The lowest mark of special is exact, and no mark means none.
func FuzzSpecial(f *testing.F) {
	for _, x := range []uint64{0, ones, highs, '"' * ones, '\\' * ones, 0x20 * ones, 0x1f * ones, 0x2122230021225d5c, 0xA2DC9F80FF7F2021} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x uint64) {
		want := 8
		for i, c := range binary.LittleEndian.AppendUint64(nil, x) {
			if c < 0x20 || c == '"' || c == '\\' {
				want = i
				break
			}
		}
		if got := bits.TrailingZeros64(special(x)) / 8; got != want {
			t.Errorf("special(%#x) marks byte %d, want %d", x, got, want)
		}
		if m := special(x); bits.TrailingZeros64(marks(m)|1<<8) != want {
			t.Errorf("marks(%#x) = %#x, want its lowest bit to be %d", m, marks(m), want)
		}
	})
}

// Strings with an escape every so many bytes: what dense and its threshold,
// near, are for.
func BenchmarkStr(b *testing.B) {
	for _, gap := range []int{6, 12, 24, 48, 96, 400, 32000} {
		text := bytes.Repeat(append(bytes.Repeat([]byte("x"), gap-2), `\n`...), 32000/gap)
		text = append(text, '"')
		b.Run(fmt.Sprintf("gap=%d", gap), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s := scanner{end: len(text)}
				if s.str(text, 0) != len(text) {
					b.Fatal(s.fault)
				}
			}
		})
	}
}
