package observe

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 100)
	tests := []struct {
		name, line string
		offset     int
		text       string
		caret      int
	}{
		{"short", "abc", 1, "abc", 1},
		{"at the end", "abc", 3, "abc", 3},
		{"beyond it", "abc", 9, "abc", 3},
		{"before it", "abc", -9, "abc", 0},
		{"empty", "", 0, "", 0},
		{"tab and escape", "\t\x1b[2Jx", 5, `\t\x1b[2Jx`, 9},
		{"invalid", "\xffx", 1, `\xffx`, 4},
		{"wide", "中x", 3, `\u4e2dx`, 6},
		{"inside a wide one", "中x", 2, `\u4e2dx`, 0},
		{"astral", "😀x", 4, `\U0001f600x`, 10},
		{"cut behind", long, 0, strings.Repeat("a", 66) + "...", 0},
		{"cut on both sides", long, 50, "..." + strings.Repeat("a", 63) + "...", 33},
		{"cut before", long + "x", 100, "..." + strings.Repeat("a", 30) + "x", 33},
		{"escapes cut before", strings.Repeat("\x01", 20) + "x", 20, "...01" + strings.Repeat(`\x01`, 7) + "x", 33},
	}
	for _, test := range tests {
		if text, caret := Excerpt([]byte(test.line), test.offset); text != test.text || caret != test.caret {
			t.Errorf("%s: Excerpt(%q, %d) = %q, %d, want %q, %d", test.name, test.line, test.offset, text, caret, test.text, test.caret)
		}
	}
}

// TestExcerptIsSafe: whatever the line, the excerpt is printable ASCII of
// bounded width, and the caret is on the byte at offset.
func TestExcerptIsSafe(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "é", "中", "😀", "\x00", "\x1b", "\xff", "\xe4", "\t", "\r", `\`}
	for range 5000 {
		var b strings.Builder
		for range r.IntN(120) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		line := b.String()
		at := r.IntN(len(line) + 1)
		line = line[:at] + "@" + line[at:]
		text, caret := Excerpt([]byte(line), at)
		if strings.IndexFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7E }) >= 0 || len(text) > excerptWidth+6 {
			t.Fatalf("Excerpt(%q, %d) = %q of %d columns, want printable ASCII of at most %d", line, at, text, len(text), excerptWidth+6)
		}
		if text[caret] != '@' {
			t.Fatalf("Excerpt(%q, %d) = %q, caret on column %d (%q), want it on the @", line, at, text, caret, text[caret])
		}
	}
}
